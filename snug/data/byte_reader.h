// The bytes of a file from its start on, inflated where it is compressed with gzip.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "snug/base/file.h"
#include "snug/data/gzip.h"

namespace snug {

// What some programs put before a text in UTF-8.
inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

class ByteReader {
 public:
  // Throws FileError when the file cannot be opened.
  ByteReader(FileSystem& files, const Path& path);

  // Fills `into` with the bytes that follow and returns how many there were: fewer only at the end.
  // Throws DataError for a compressed file that is cut off or damaged.
  size_t read(std::span<std::byte> into);
  // Goes to a byte of a plain file, or to the start of any.
  void seek(int64_t offset);

  bool is_compressed() const { return gzip_ != nullptr; }
  // Of the file itself.
  int64_t file_bytes() const { return file_->size(); }

 private:
  std::unique_ptr<File> file_;
  std::unique_ptr<GzipReader> gzip_;  // Null for a plain file.
  int64_t position_ = 0;
};

}  // namespace snug
