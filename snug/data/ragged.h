// Rows of different lengths in the caller's memory.
#pragma once

#include <cstdint>
#include <span>

#include "snug/data/arrays.h"
#include "snug/data/source.h"

namespace snug::data {

// What becomes of a row that has more steps than the longest that was declared.
enum class TooLong { refuse, cut };

struct RaggedOptions {
  // The steps of all rows, one after the other: {steps, ...}. Row i has the steps from
  // row_splits[i] up to, but not, row_splits[i + 1]. Both are borrowed.
  Array values;
  std::span<const int64_t> row_splits;
  int64_t longest = 0;      // Steps of a row as it is given; what is missing is padding.
  float padding_value = 0;  // At the end of the row.
  TooLong too_long = TooLong::refuse;
};

// One input, {longest, ...} a row, with random access. Throws DataError that names the first row
// that is too long, and how long; Error for splits that do not fit the values.
SourcePtr ragged(const RaggedOptions& options);

}  // namespace snug::data
