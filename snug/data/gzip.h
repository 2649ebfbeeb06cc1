// Reads what a gzip file holds, from its start to its end, in fixed memory.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "snug/base/file.h"

struct z_stream_s;

namespace snug {

// Whether a file begins as gzip files do.
bool is_gzip(File& file);

class GzipReader {
 public:
  // The file outlives the reader.
  explicit GzipReader(File& file);

  // Fills `into` with the bytes that follow and returns how many there were: fewer only at the end,
  // when all checksums have been found right. Throws DataError that names the file and the place
  // when it is cut off or damaged.
  size_t read(std::span<std::byte> into);

 private:
  // False when the file has no more bytes.
  bool refill();
  [[noreturn]] void fail(std::string_view what) const;

  File& file_;
  int64_t position_ = 0;  // Of the next byte to read from the file.
  bool ended_ = false;    // All that was begun has been ended.
  std::vector<std::byte> input_;
  std::unique_ptr<z_stream_s, void (*)(z_stream_s*)> stream_;
};

}  // namespace snug
