#include "snug/base/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

namespace snug {
namespace {

std::string holder(int descriptor) {
  char text[32] = {};
  const ssize_t count = ::pread(descriptor, text, sizeof(text) - 1, 0);
  std::string process(text, count > 0 ? static_cast<size_t>(count) : 0);
  while (!process.empty() && process.back() == '\n') process.pop_back();
  return process.empty() ? "another process" : "process " + process;
}

}  // namespace

FileLock::FileLock(const Path& directory) {
  const Path path = directory / "lock";
  descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor_ == -1) throw file_error(path, "open it", errno);
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    const int reason = errno;
    const std::string who = holder(descriptor_);
    ::close(descriptor_);
    if (reason != EWOULDBLOCK) throw file_error(path, "lock it", reason);
    throw FileError(
        "{}: {} is using this directory; wait until it has ended, or choose another directory",
        directory.string(), who);
  }
  // Who it is, for the message above; that it cannot be written does no harm.
  const std::string text = std::to_string(::getpid()) + "\n";
  if (::ftruncate(descriptor_, 0) == 0) {
    [[maybe_unused]] const ssize_t count = ::pwrite(descriptor_, text.data(), text.size(), 0);
  }
}

FileLock::~FileLock() { ::close(descriptor_); }

}  // namespace snug
