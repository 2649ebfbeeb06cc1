#include "snug/base/growing_file.h"

#include <utility>

namespace snug {

GrowingFile::GrowingFile(FileSystem& files, const Path& path, OpenMode mode) : path_(path) {
  // Not in the system's own append mode, in which nothing can be written over.
  file_ = files.open(path, mode == OpenMode::append ? OpenMode::update : mode);
  bytes_ = file_->size();
  // Its name too, so that what is synced later is not lost with it.
  if (bytes_ == 0) files.sync_directory(path.parent_path());
}

void GrowingFile::add(std::string_view record) {
  if (pending_.size() + record.size() > kMostPending && !pending_.empty()) {
    ++lost_;
    return;
  }
  pending_ += record;
}

void GrowingFile::flush() {
  if (pending_.empty()) return;
  if (is_torn_) file_->truncate(bytes_);
  is_torn_ = true;
  try {
    file_->write_at(std::as_bytes(std::span(pending_)), bytes_);
  } catch (const FileError&) {
    // What was written of it goes at once if that works, and before the next try if not.
    try {
      file_->truncate(bytes_);
      is_torn_ = false;
    } catch (const FileError&) {
    }
    throw;
  }
  is_torn_ = false;
  bytes_ += static_cast<int64_t>(pending_.size());
  // A large record is not held as long as the file is open.
  std::string().swap(pending_);
}

bool GrowingFile::go_back(int64_t bytes, std::string pending) {
  pending_ = std::move(pending);
  const bool has_all = bytes_ >= bytes;
  if (bytes_ > bytes) {
    file_->truncate(bytes);
    bytes_ = bytes;
  }
  return has_all;
}

}  // namespace snug
