// Where a run leaves what it found: runs/<name>/<n>/.
#pragma once

#include <string>
#include <string_view>

#include "snug/base/file.h"

namespace snug::cli {

class RunDirectory {
 public:
  // Makes the directory of the next run of this name; n counts from 1. Two programs that do so at
  // once get two directories. Throws FileError.
  RunDirectory(const Path& runs, const std::string& name);
  // The newest run of this name. Throws Error where there is none.
  static RunDirectory newest(const Path& runs, const std::string& name);
  // The number of the run whose own directory this file is in (runs/NAME/N/run.yaml); 0: none.
  static int64_t number_of(const Path& runs, const std::string& name, const Path& file);
  // The run of this name with this number; 0: the newest. Throws Error where there is none.
  static RunDirectory of(const Path& runs, const std::string& name, int64_t number);

  const Path& path() const { return path_; }
  // N of runs/NAME/N.
  int64_t number() const;
  // A whole file in one step: see write_atomically.
  void write(std::string_view file, std::string_view text) const;

 private:
  explicit RunDirectory(Path path) : path_(std::move(path)) {}

  Path path_;
};

}  // namespace snug::cli
