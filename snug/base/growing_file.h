// A file of records that grows: lines of a log, events.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "snug/base/file.h"

namespace snug {

// What one flush() writes stands in the file whole or not at all, also when the disk fails in
// between; what could not be written is tried again with the next one.
class GrowingFile {
 public:
  // Mode write: a new or emptied file. append: what is there stays. Throws FileError.
  GrowingFile(FileSystem& files, const Path& path, OpenMode mode);

  const Path& path() const { return path_; }
  // Kept until flush(). Where a disk fails for so long that more than kMostPending wait, what comes
  // is lost.
  void add(std::string_view record);
  // Writes what waits. Throws FileError: the file then ends where it ended before.
  void flush();
  // Brings it to the disk.
  void sync() { file_->sync(); }
  void close() { file_->close(); }

  int64_t bytes() const { return bytes_; }  // Of the file, up to the last flush that succeeded.
  const std::string& pending() const { return pending_; }
  int64_t lost() const { return lost_; }  // Records.
  // The file itself, to be synced by another thread while this one goes on.
  const std::shared_ptr<File>& file() const { return file_; }

  // Goes back to a file of so many bytes and to these records that waited then. False where the
  // file has fewer by now: then what comes follows what is there.
  bool go_back(int64_t bytes, std::string pending);

  static constexpr size_t kMostPending = size_t{1} << 20;

 private:
  Path path_;
  std::shared_ptr<File> file_;
  std::string pending_;
  int64_t bytes_ = 0;
  int64_t lost_ = 0;
  bool is_torn_ = false;  // A part of a flush may stand behind `bytes_`.
};

}  // namespace snug
