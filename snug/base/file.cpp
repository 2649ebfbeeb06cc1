#include "snug/base/file.h"

#include <sys/statvfs.h>

#include <cerrno>
#include <cstring>

#include "snug/base/bytes.h"
#include "snug/base/temporary_file.h"

namespace snug {
namespace {

std::string free_space(const Path& path) {
  struct statvfs disk {};
  const Path folder = path.has_parent_path() ? path.parent_path() : Path(".");
  if (::statvfs(folder.c_str(), &disk) != 0) return "it is full";
  return bytes_text(static_cast<int64_t>(disk.f_bavail * disk.f_frsize)) + " are free there";
}

std::string advice(const Path& path, int error_number) {
  switch (error_number) {
    case ENOSPC:
      return free_space(path) + ": make room on that disk or choose another folder";
    case EDQUOT:
      return "your quota on that disk is used up: remove files or choose another folder";
    case EIO:
      return "the disk reports a fault: look into dmesg and choose another disk";
    case ENOENT:
      return "check the path";
    case ENOTDIR:
      return "a part of the path is a file: check the path";
    case EISDIR:
      return "it is a directory: give the path of a file";
    case EACCES:
    case EPERM:
      return "check its owner and permissions";
    case EROFS:
      return "choose a folder on a disk that can be written";
    case EMFILE:
    case ENFILE:
      return "too many files are open: raise `ulimit -n`";
    case EFBIG:
      return "the file system or `ulimit -f` does not allow files this large";
    default:
      return "check the path and the disk";
  }
}

}  // namespace

FileError file_error(const Path& path, std::string_view action, int error_number) {
  return FileError("{}: cannot {}: {}; {}", path.string(), action, std::strerror(error_number),
                   advice(path, error_number));
}

size_t File::read_at(std::span<std::byte> into, int64_t offset) {
  size_t done = 0;
  while (done < into.size()) {
    const size_t count = read_some(into.subspan(done), offset + static_cast<int64_t>(done));
    if (count == 0) break;
    done += count;
  }
  return done;
}

void File::read_exactly_at(std::span<std::byte> into, int64_t offset) {
  const size_t count = read_at(into, offset);
  if (count == into.size()) return;
  throw FileError(
      "{}: cannot read {} bytes at {}: the file ends after {} of them; it may have been "
      "cut short, so get it again",
      path_.string(), into.size(), offset, count);
}

void File::write_at(std::span<const std::byte> from, int64_t offset) {
  while (!from.empty()) {
    const size_t count = write_some(from, offset);
    SNUG_CHECK(count > 0);
    from = from.subspan(count);
    offset += static_cast<int64_t>(count);
  }
}

void File::append(std::span<const std::byte> from) {
  while (!from.empty()) {
    const size_t count = append_some(from);
    SNUG_CHECK(count > 0);
    from = from.subspan(count);
  }
}

void write_atomically(FileSystem& files, const Path& path,
                      const std::function<void(File&)>& writer) {
  remove_abandoned(files, path);
  TemporaryFile temporary(files, path);
  try {
    writer(temporary.file());
    temporary.file().sync();
    temporary.file().close();
    files.rename(temporary.path(), path);
  } catch (...) {
    try {
      files.remove(temporary.path());
    } catch (...) {
      // What went wrong first is what the caller must hear.
    }
    throw;
  }
  files.sync_directory(path.parent_path());
}

}  // namespace snug
