// Products of many rows with a small matrix whose result is wider than what it reads: convolutions
// of one pixel that widen it, and the gradient of those that narrow it. Where the result goes to
// memory, moving it costs as much as making it: what is written soon is called for meanwhile.
#pragma once

#include <cstdint>

namespace snug::kernels {

// Whether `columns` make whole vectors on this machine, and tiles of the result enough registers.
bool pointwise_serves(int64_t columns);

// The floats of weights [depth, columns] packed for pointwise().
int64_t pointwise_packed_floats(int64_t depth, int64_t columns);
// Element (k, n) of the weights is weights[k * row + n * column].
void pointwise_pack(const float* weights, int64_t depth, int64_t columns, int64_t row,
                    int64_t column, float* packed) noexcept;

// y [rows, columns] = x [rows, depth] * weights + bias; bias [columns] or null. A row's bits do not
// depend on the others.
void pointwise(const float* x, const float* packed, const float* bias, float* y, int64_t rows,
               int64_t depth, int64_t columns) noexcept;

}  // namespace snug::kernels
