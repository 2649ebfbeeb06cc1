// Keeps a second process out of a directory.
#pragma once

#include "snug/base/file.h"

namespace snug {

// Holds the file `directory`/lock as long as it lives. The system lets go of it when the process
// dies, however it dies, so a lock that is left behind hinders nobody; the file itself stays.
class FileLock {
 public:
  // Throws FileError, which names the process, where another one holds it.
  explicit FileLock(const Path& directory);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace snug
