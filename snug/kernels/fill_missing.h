// Rows of packed numbers as a model reads them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace snug::kernels {

// Elements behind the last one of `missing` that fill_missing() may read.
constexpr size_t kMissingPadding = 16;

// to[r * columns + c] = from[r * stride + c], whose bits are those of a float, or missing[c] where
// these are `mark`. columns <= stride.
void fill_missing(const uint32_t* from, size_t rows, size_t stride, size_t columns, uint32_t mark,
                  const float* missing, float* to) noexcept;

}  // namespace snug::kernels
