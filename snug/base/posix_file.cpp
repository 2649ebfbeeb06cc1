// The machine's own files, through POSIX calls.

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>

#include "snug/base/file.h"
#include "snug/base/scratch_file.h"

namespace snug {
namespace {

// Repeats a call that a signal has interrupted.
template <typename Call>
auto retried(const Call& call) {
  auto result = call();
  while (result == -1 && errno == EINTR) result = call();
  return result;
}

int open_flags(OpenMode mode) {
  switch (mode) {
    case OpenMode::read:
      return O_RDONLY;
    case OpenMode::write:
      return O_RDWR | O_CREAT | O_TRUNC;
    case OpenMode::append:
      return O_WRONLY | O_CREAT | O_APPEND;
    case OpenMode::update:
      return O_RDWR | O_CREAT;
    case OpenMode::scratch:
      break;  // See open_scratch.
  }
  return O_RDONLY;
}

// Opening one would wait until somebody writes to it.
void refuse_pipe(const Path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISFIFO(status.st_mode)) return;
  throw FileError("{}: it is a pipe, which cannot be read from any place; save it to a file",
                  path.string());
}

class PosixFile final : public File {
 public:
  PosixFile(const Path& path, OpenMode mode) : File(path), passes_(mode == OpenMode::write) {
    if (mode == OpenMode::scratch) {
      descriptor_ = open_scratch(path);
      return;
    }
    if (mode == OpenMode::read) refuse_pipe(path);
    descriptor_ = retried([&] { return ::open(path.c_str(), open_flags(mode) | O_CLOEXEC, 0666); });
    if (descriptor_ == -1) throw file_error(path, "open it", errno);
    struct stat status {};
    if (::fstat(descriptor_, &status) == 0 && S_ISDIR(status.st_mode)) {
      ::close(descriptor_);
      throw file_error(path, "open it", EISDIR);
    }
  }

  ~PosixFile() override {
    if (descriptor_ != -1) ::close(descriptor_);
  }

  int64_t size() override {
    struct stat status {};
    require(::fstat(descriptor_, &status) == 0, "ask for its size");
    return status.st_size;
  }

  void truncate(int64_t size) override {
    require(retried([&] { return ::ftruncate(descriptor_, size); }) == 0, "change its size");
  }

  int descriptor() const override { return descriptor_; }

  void allocate(int64_t size) override {
    if (retried([&] { return ::fallocate(descriptor_, 0, 0, size); }) == 0) return;
    require(errno == EOPNOTSUPP, fmt::format("take {} bytes of the disk", size));
    truncate(size);
  }

  void sync() override {
    require(retried([&] { return ::fsync(descriptor_); }) == 0, "bring it to the disk");
    if (begun_ > 0) ::posix_fadvise(descriptor_, 0, 0, POSIX_FADV_DONTNEED);
  }

  // Linux has let go of the descriptor even if close() says EINTR, so it is never tried again.
  void close() override {
    const int descriptor = std::exchange(descriptor_, -1);
    if (descriptor == -1) return;
    require(::close(descriptor) == 0 || errno == EINTR, "close it");
  }

 protected:
  size_t read_some(std::span<std::byte> into, int64_t offset) override {
    return counted(retried([&] { return ::pread(descriptor_, into.data(), into.size(), offset); }),
                   [&] { return fmt::format("read {} bytes at {}", into.size(), offset); });
  }

  size_t write_some(std::span<const std::byte> from, int64_t offset) override {
    if (passes_) from = from.first(std::min<size_t>(from.size(), kWindow));
    const size_t count =
        counted(retried([&] { return ::pwrite(descriptor_, from.data(), from.size(), offset); }),
                [&] { return fmt::format("write {} bytes at {}", from.size(), offset); });
    if (passes_) pass_on(offset + static_cast<int64_t>(count));
    return count;
  }

  size_t append_some(std::span<const std::byte> from) override {
    return counted(retried([&] { return ::write(descriptor_, from.data(), from.size()); }),
                   [&] { return fmt::format("append {} bytes", from.size()); });
  }

 private:
  void require(bool holds, std::string_view action) const {
    if (!holds) throw file_error(path(), action, errno);
  }

  // Has a new file on its way to the disk while it is written, and out of the page cache when it is
  // there: otherwise a group that holds this process to its budget would count all of it.
  void pass_on(int64_t end) {
    const int64_t whole = end / kWindow * kWindow;
    int64_t begun = begun_;
    if (whole <= begun || !begun_.compare_exchange_strong(begun, whole)) return;
    ::sync_file_range(descriptor_, begun, whole - begun, SYNC_FILE_RANGE_WRITE);
    if (begun == 0) return;
    constexpr unsigned kAndWait =
        SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
    const int64_t before = std::max<int64_t>(0, begun - 4 * kWindow);
    // What has failed is said here and not once more by sync(); other files than those of a disk
    // know no such thing.
    const bool fails = ::sync_file_range(descriptor_, before, begun - before, kAndWait) != 0 &&
                       (errno == EIO || errno == ENOSPC || errno == EDQUOT);
    require(!fails, "bring it to the disk");
    ::posix_fadvise(descriptor_, 0, begun, POSIX_FADV_DONTNEED);
  }

  template <typename Action>
  size_t counted(ssize_t count, const Action& action) const {
    if (count < 0) throw file_error(path(), action(), errno);
    return static_cast<size_t>(count);
  }

  static constexpr int64_t kWindow = 1 << 20;
  int descriptor_ = -1;
  bool passes_;
  std::atomic<int64_t> begun_ = 0;  // Up to here it is on its way.
};

// An empty path, such as the parent of "a.txt", means the working directory.
Path or_here(const Path& directory) { return directory.empty() ? Path(".") : directory; }

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

class PosixFiles final : public FileSystem {
 public:
  std::unique_ptr<File> open(const Path& path, OpenMode mode) override {
    return std::make_unique<PosixFile>(path, mode);
  }

  std::optional<int64_t> size(const Path& path) override {
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0) return status.st_size;
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    throw file_error(path, "ask for its size", errno);
  }

  std::vector<std::string> list(const Path& directory) override {
    // The standard's iterator ends the program where an allocation fails.
    const std::unique_ptr<DIR, CloseDirectory> open(::opendir(or_here(directory).c_str()));
    if (!open) throw file_error(directory, "list it", errno);
    std::vector<std::string> names;
    errno = 0;
    while (const dirent* entry = ::readdir(open.get())) {
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
      errno = 0;
    }
    if (errno != 0) throw file_error(directory, "list it", errno);
    std::sort(names.begin(), names.end());
    return names;
  }

  void rename(const Path& from, const Path& to) override {
    if (std::rename(from.c_str(), to.c_str()) == 0) return;
    throw file_error(to, fmt::format("put {} in its place", from.string()), errno);
  }

  bool remove(const Path& path) override {
    if (std::remove(path.c_str()) == 0) return true;
    if (errno == ENOENT) return false;
    throw file_error(path, "remove it", errno);
  }

  void create_directories(const Path& directory) override {
    std::error_code error;
    std::filesystem::create_directories(or_here(directory), error);
    if (error) throw file_error(directory, "create the directory", error.value());
  }

  void sync_directory(const Path& directory) override {
    const int descriptor = retried(
        [&] { return ::open(or_here(directory).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
    if (descriptor == -1) throw file_error(directory, "open the directory", errno);
    const int result = retried([&] { return ::fsync(descriptor); });
    const int reason = errno;
    ::close(descriptor);
    // Some network file systems cannot sync a directory; there is nothing more to do on them.
    if (result != 0 && reason != EINVAL) {
      throw file_error(directory, "bring the directory to the disk", reason);
    }
  }

  int64_t free_bytes(const Path& path) override {
    struct statvfs disk {};
    if (::statvfs(or_here(path).c_str(), &disk) != 0) {
      throw file_error(path, "ask for free space", errno);
    }
    return static_cast<int64_t>(disk.f_bavail * disk.f_frsize);
  }
};

}  // namespace

FileSystem& real_files() {
  static PosixFiles files;
  return files;
}

}  // namespace snug
