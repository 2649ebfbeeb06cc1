// The header of NumPy's .npy format, versions 1 to 3.
#pragma once

#include <span>
#include <string_view>

#include "snug/data/source.h"

namespace snug {

struct NpyHeader {
  StoredType stored = StoredType::float32;
  bool swapped = false;     // Elements are big-endian.
  bool by_columns = false;  // Fortran order: the elements of a column stand together, not of a row.
  Shape shape;              // Rows first; at least one axis.
  int64_t bytes = 0;        // Of the header: where the elements begin.
};

// The bytes that stand before the header's text and say how long it is.
inline constexpr size_t kNpyPreambleBytes = 12;
// Longer texts than any array of numbers needs are taken for damage.
inline constexpr size_t kNpyLongestText = size_t{64} << 10;

// The bytes of the whole header, from the file's first kNpyPreambleBytes (or all it has). Throws
// DataError, which begins with `where`, when it is no .npy file.
size_t npy_header_bytes(std::string_view start, std::string_view where);

// The header from its bytes, all of them. Throws DataError, which begins with `where`, for a text
// that cannot be read, for elements that are no numbers (named by their dtype) and
// for an array without rows, and says what to do.
NpyHeader parse_npy_header(std::string_view bytes, std::string_view where);

}  // namespace snug
