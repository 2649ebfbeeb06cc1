#include "snug/data/byte_reader.h"

#include "snug/base/error.h"

namespace snug {

ByteReader::ByteReader(FileSystem& files, const Path& path)
    : file_(files.open(path, OpenMode::read)) {
  if (is_gzip(*file_)) gzip_ = std::make_unique<GzipReader>(*file_);
}

size_t ByteReader::read(std::span<std::byte> into) {
  if (gzip_) return gzip_->read(into);
  const size_t count = file_->read_at(into, position_);
  position_ += static_cast<int64_t>(count);
  return count;
}

void ByteReader::seek(int64_t offset) {
  if (gzip_) {
    SNUG_CHECK(offset == 0, "a compressed file has no byte {} to go to", offset);
    gzip_ = std::make_unique<GzipReader>(*file_);
  }
  position_ = offset;
}

}  // namespace snug
