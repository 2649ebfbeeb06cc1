// A file that a callback writes to while a run goes on, and with which a resumed run goes on.
#pragma once

#include <optional>
#include <string>

#include "snug/base/growing_file.h"
#include "snug/base/repeated_warning.h"
#include "snug/train/run_state.h"

namespace snug {

// A disk that fails does not end the run: what was added waits for it, with a warning.
class RunLog {
 public:
  // `owner` is the callback, for messages.
  RunLog(std::string owner, FileSystem& files) : owner_(std::move(owner)), files_(files) {}

  bool is_open() const { return file_.has_value(); }
  void open(GrowingFile file) { file_.emplace(std::move(file)); }
  void add(std::string_view record) { file_->add(record); }
  // Writes what was added.
  void write();
  // Says so where something could not be written to the end.
  void close();

  // What is in the file up to here is on the disk with the checkpoint; what a killed run wrote
  // after it is cut off when a run goes on. `path` is where the file is now; empty: where it was.
  void state(const std::string& name, StateVisitor& visitor, const Path& path = {});

 private:
  std::string owner_;
  FileSystem& files_;
  std::optional<GrowingFile> file_;
  RepeatedWarning trouble_;
};

}  // namespace snug
