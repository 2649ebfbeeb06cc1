// The transpose of a plane of floats.
#pragma once

#include <cstdint>

namespace snug::kernels {

// y[c * y_stride + r] = x[r * x_stride + c] for r < rows, c < columns, in tiles that stay in L1.
void transpose_plane(const float* x, int64_t x_stride, float* y, int64_t y_stride, int64_t rows,
                     int64_t columns) noexcept;

}  // namespace snug::kernels
