// The largest elements of rows.
#pragma once

#include <cstdint>

namespace snug::kernels {

// At most so many of a row.
inline constexpr int kMostTopK = 16;

// values[r, i], places[r, i]: the i-th largest of row r of x[rows, columns] for i < k <= columns.
// Of equals the one that stands first comes first; NaN comes before all numbers.
void top_k(const float* x, float* values, int32_t* places, int64_t rows, int64_t columns,
           int k) noexcept;

}  // namespace snug::kernels
