// The file that stands beside another one until it takes its place: see write_atomically.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "snug/base/file.h"

namespace snug {

// A new file whose name, PATH.sixteen hexadecimal digits.tmp, no other process or thread has. On a
// real disk it is locked as long as this lives, also when it is closed, so that remove_abandoned()
// leaves it alone.
class TemporaryFile {
 public:
  TemporaryFile(FileSystem& files, const Path& path);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  File& file() { return *file_; }
  const Path& path() const { return file_->path(); }

 private:
  bool lock();

  std::unique_ptr<File> file_;
  int held_ = -1;  // What keeps the lock.
};

// Removes the temporary files of `path` that no living process holds: a killed one left them. Only
// on a real disk; what cannot be removed stays.
void remove_abandoned(FileSystem& files, const Path& path);
// The same for all files of a folder; nothing where there is no such folder.
void remove_all_abandoned(FileSystem& files, const Path& folder);

// The name of the file that the temporary one called `name` is to replace; nullopt where `name` is
// not of that form.
std::optional<std::string_view> target_of_temporary(std::string_view name);

}  // namespace snug
