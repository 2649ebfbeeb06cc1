#include "snug/data/file_state.h"

#include <sys/stat.h>

namespace snug {

FileState state_of(File& file) {
  FileState state{.bytes = file.size()};
  struct stat now {};
  if (file.descriptor() >= 0 && ::fstat(file.descriptor(), &now) == 0) {
    state.changed = int64_t{now.st_mtim.tv_sec} * 1'000'000'000 + now.st_mtim.tv_nsec;
  }
  return state;
}

void check_unchanged(File& file, const FileState& before) {
  const FileState now = state_of(file);
  if (now == before) return;
  if (now.bytes == before.bytes) {
    throw FileError(
        "{}: it was written to during the run, so its rows may be other ones now; leave the file "
        "alone and start again",
        file.path().string());
  }
  throw FileError(
      "{}: it had {} bytes when it was opened and has {} now, so it was changed during the run; "
      "leave the file alone and start again",
      file.path().string(), before.bytes, now.bytes);
}

}  // namespace snug
