// Rows in IDX files, the format of MNIST: plain or compressed with gzip, told by their content.
#pragma once

#include <string_view>
#include <vector>

#include "snug/base/file.h"
#include "snug/data/row_file.h"
#include "snug/data/source.h"

namespace snug {

struct IdxHeader {
  StoredType stored = StoredType::uint8;
  Shape shape;  // Rows first; at least one axis.
};

// The first bytes, which say how many axes follow, and the bytes of the header with that many.
inline constexpr size_t kIdxStartBytes = 4;
size_t idx_header_bytes(std::string_view start, std::string_view where);
// The header from its bytes, all of them. Both throw DataError, which begins with `where`, when it
// is no IDX file.
IdxHeader parse_idx_header(std::string_view bytes, std::string_view where);

namespace data {

struct IdxOptions {
  std::vector<Path> x, y;
  FileSystem* files = nullptr;  // Null: the machine's own.
  size_t buffer_bytes = kRowBufferBytes;
  // A folder for the inflated rows of compressed files, which are then read like plain ones and
  // found again by later runs. Empty: the rows are kept in memory, as stored.
  Path cache;
  int64_t most_in_memory = int64_t{64} << 20;  // For all files together, without a cache.
};

// Throws DataError for a file that is damaged, cut off or too large to be inflated into memory,
// FileError for one that cannot be read, Error when the numbers of rows differ.
SourcePtr idx(const IdxOptions& options);
inline SourcePtr idx(const Path& images, const Path& labels) {
  return idx(IdxOptions{.x = {images}, .y = {labels}});
}

}  // namespace data
}  // namespace snug
