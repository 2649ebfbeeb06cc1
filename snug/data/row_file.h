// Files that are a header and then rows of one size: how their rows become a field.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "snug/base/file.h"
#include "snug/data/source.h"

namespace snug {

// One such file, or what was inflated from it.
struct RowFile {
  Field field;
  int64_t rows = 0;
  std::unique_ptr<File> file;   // Null: `held` has the rows.
  int64_t offset = 0;           // Where the rows begin in the file.
  bool swapped = false;         // The file has the other byte order.
  bool by_columns = false;      // No row stands together (fortran_order.h); not for row_files().
  std::vector<std::byte> held;  // In this machine's byte order.
};

// The bytes of rows with this shape (rows first); throws DataError, which begins with `where`, when
// the number is more than any file has.
int64_t bytes_of_rows(const Shape& shape, StoredType stored, std::string_view where);

// Throws DataError when the file does not end with its last row: cut off, or followed by something.
void check_file_size(const RowFile& rows);

// Turns the byte order of `count` elements of `size` bytes.
void swap_bytes(std::span<std::byte> elements, size_t size);

// Reads rows with pread, each run of neighbours in one request or in pieces of `buffer_bytes`
// (which holds at least one element), so that memory does not depend on the file. What needs no
// cast is read into the slot itself. Fields of at most 1 MiB beside larger ones are read at once
// and held. Throws FileError when a file ends too early, and at the start of a pass when it was
// written to since it was opened.
SourcePtr row_files(std::vector<RowFile> files, size_t buffer_bytes);

inline constexpr size_t kRowBufferBytes = size_t{256} << 10;

}  // namespace snug
