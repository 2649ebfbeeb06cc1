// Files behind an interface, so that tests can make the disk full, slow or dead
// (snug/testing/faulty_file.h). Everything here throws FileError, which names the path, what was
// tried, the system's reason and what to do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "snug/base/error.h"

namespace snug {

using Path = std::filesystem::path;

enum class OpenMode {
  read,    // An existing file, for reading.
  write,   // A new or emptied file, for writing and reading.
  append,  // A new or existing file, for writing at its end.
  update,  // A new or existing file, kept as it is, for writing and reading anywhere.
  // A new file without a name in the directory `path`, gone when it is closed or the process ends.
  // It is written and read in whole pages, memory included, past the page cache: what goes there
  // takes no memory. Throws where the directory is on no disk, or its disk cannot do that.
  scratch,
};

// An open file. Calls at offsets may come from several threads at once. The destructor closes it
// and keeps silent: a writer that wants to know calls sync() and close() first.
class File {
 public:
  explicit File(Path path) : path_(std::move(path)) {}
  virtual ~File() = default;
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  const Path& path() const { return path_; }

  // Fills `into` from `offset` on and returns how many bytes there were: fewer only at the end of
  // the file.
  size_t read_at(std::span<std::byte> into, int64_t offset);
  // The same, but throws if the file ends before `into` is full.
  void read_exactly_at(std::span<std::byte> into, int64_t offset);
  // Writes all of `from`; if it throws, any part of it may have been written.
  void write_at(std::span<const std::byte> from, int64_t offset);
  // Writes all of `from` at the end. One thread at a time.
  void append(std::span<const std::byte> from);

  virtual int64_t size() = 0;
  virtual void truncate(int64_t size) = 0;
  // Makes the file this long and takes its bytes of the disk now, so that no later write within it
  // finds the disk full.
  virtual void allocate(int64_t size) { truncate(size); }
  // What the system calls it by; -1 where there is no such thing.
  virtual int descriptor() const { return -1; }
  // Returns when all that was written is on the disk. A new file needs sync_directory() as well.
  virtual void sync() = 0;
  virtual void close() = 0;

 protected:
  // One call to the system: at least one byte, or 0 at the end of the file.
  virtual size_t read_some(std::span<std::byte> into, int64_t offset) = 0;
  // One call to the system: at least one byte of a `from` that is not empty.
  virtual size_t write_some(std::span<const std::byte> from, int64_t offset) = 0;
  virtual size_t append_some(std::span<const std::byte> from) = 0;

 private:
  Path path_;
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;

  virtual std::unique_ptr<File> open(const Path& path, OpenMode mode) = 0;
  // The bytes of a file; empty if there is no file.
  virtual std::optional<int64_t> size(const Path& path) = 0;
  // The names in a directory, sorted.
  virtual std::vector<std::string> list(const Path& directory) = 0;
  // Replaces `to` in one step.
  virtual void rename(const Path& from, const Path& to) = 0;
  // False if there was no such file.
  virtual bool remove(const Path& path) = 0;
  virtual void create_directories(const Path& directory) = 0;
  // Returns when the names that were made, renamed and removed in it are on the disk.
  virtual void sync_directory(const Path& directory) = 0;
  // What a user may still write on the disk that holds `path`.
  virtual int64_t free_bytes(const Path& path) = 0;
};

// The machine's own files.
FileSystem& real_files();

// Writes a new file through `writer` and puts it in the place of `path` when all of it is on the
// disk, so that a reader, now or after a crash, finds the old file or the new one, whole. If
// anything throws, the old file stays and the temporary one (temporary_file.h) is removed; only if
// the last step fails, the sync of the directory, may the new file be there already. Where several
// processes write at once, one of their files stays, whole.
void write_atomically(FileSystem& files, const Path& path,
                      const std::function<void(File&)>& writer);

// The error for a failed system call: "PATH: cannot ACTION: REASON; what to do".
FileError file_error(const Path& path, std::string_view action, int error_number);

}  // namespace snug
