#include "snug/base/scratch_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

namespace snug {
namespace {

constexpr int kFlags = O_RDWR | O_DIRECT | O_CLOEXEC;
constexpr mode_t kMode = 0600;

// For file systems that know no files without a name: one that loses its name at once.
int open_and_unlink(const Path& directory) {
  static std::atomic<int> count = 0;
  const Path path = directory / fmt::format(".snug-{}-{}", ::getpid(), ++count);
  const int descriptor = ::open(path.c_str(), kFlags | O_CREAT | O_EXCL, kMode);
  const int reason = errno;
  ::unlink(path.c_str());
  errno = reason;
  return descriptor;
}

bool is_memory(const Path& directory) {
  struct statfs disk {};
  if (::statfs(directory.c_str(), &disk) != 0) return false;
  return disk.f_type == TMPFS_MAGIC || disk.f_type == RAMFS_MAGIC;
}

}  // namespace

int open_scratch(const Path& directory) {
  const Path path = directory.empty() ? Path(".") : directory;
  if (is_memory(path)) {
    throw FileError(
        "{}: it is a file system in memory, so what is put there stays in memory; choose a folder "
        "on a disk",
        path.string());
  }
  int descriptor = ::open(path.c_str(), kFlags | O_TMPFILE, kMode);
  if (descriptor == -1 && (errno == EOPNOTSUPP || errno == EISDIR))
    descriptor = open_and_unlink(path);
  if (descriptor == -1 && errno == EINVAL) {
    throw FileError(
        "{}: its disk does not allow reads and writes past the page cache (O_DIRECT), and the page "
        "cache is memory; choose a folder on another disk",
        path.string());
  }
  if (descriptor == -1) throw file_error(path, "make a file in it", errno);
  return descriptor;
}

}  // namespace snug
