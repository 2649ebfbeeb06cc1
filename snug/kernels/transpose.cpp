#include "snug/kernels/transpose.h"

#include <algorithm>

#include "snug/kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "snug/kernels/transpose.cpp"
#include "hwy/foreach_target.h"  // Compiles what follows once for each instruction set.
#include "snug/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace snug::kernels::HWY_NAMESPACE {

// A tile has whole lines of the cache and no more than its ways hold where strides are powers of
// two.
constexpr int64_t kTile = 16;

#if HWY_TARGET == HWY_SCALAR
constexpr int64_t kSquare = 1;

HWY_INLINE void turn_square(const float* x, int64_t, float* y, int64_t) { *y = *x; }
#else
constexpr int64_t kSquare = 4;

// Four rows of four become four columns.
HWY_INLINE void turn_square(const float* x, int64_t x_stride, float* y, int64_t y_stride) {
  const hn::FixedTag<float, 4> d4;
  const auto a = hn::LoadU(d4, x), b = hn::LoadU(d4, x + x_stride);
  const auto c = hn::LoadU(d4, x + 2 * x_stride), e = hn::LoadU(d4, x + 3 * x_stride);
  const auto ab_low = hn::InterleaveLower(d4, a, b), ab_high = hn::InterleaveUpper(d4, a, b);
  const auto ce_low = hn::InterleaveLower(d4, c, e), ce_high = hn::InterleaveUpper(d4, c, e);
  hn::StoreU(hn::ConcatLowerLower(d4, ce_low, ab_low), d4, y);
  hn::StoreU(hn::ConcatUpperUpper(d4, ce_low, ab_low), d4, y + y_stride);
  hn::StoreU(hn::ConcatLowerLower(d4, ce_high, ab_high), d4, y + 2 * y_stride);
  hn::StoreU(hn::ConcatUpperUpper(d4, ce_high, ab_high), d4, y + 3 * y_stride);
}
#endif

void turn_tile(const float* x, int64_t x_stride, float* y, int64_t y_stride, int64_t rows,
               int64_t columns) {
  const int64_t whole_rows = rows / kSquare * kSquare, whole_columns = columns / kSquare * kSquare;
  for (int64_t c = 0; c < whole_columns; c += kSquare) {
    for (int64_t r = 0; r < whole_rows; r += kSquare) {
      turn_square(x + r * x_stride + c, x_stride, y + c * y_stride + r, y_stride);
    }
  }
  for (int64_t c = 0; c < columns; ++c) {
    const int64_t begin = c < whole_columns ? whole_rows : 0;
    for (int64_t r = begin; r < rows; ++r) y[c * y_stride + r] = x[r * x_stride + c];
  }
}

void turn_plane(const float* x, int64_t x_stride, float* y, int64_t y_stride, int64_t rows,
                int64_t columns) {
  for (int64_t c = 0; c < columns; c += kTile) {
    for (int64_t r = 0; r < rows; r += kTile) {
      turn_tile(x + r * x_stride + c, x_stride, y + c * y_stride + r, y_stride,
                std::min(kTile, rows - r), std::min(kTile, columns - c));
    }
  }
}

}  // namespace snug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace snug::kernels {

HWY_EXPORT(turn_plane);

void transpose_plane(const float* x, int64_t x_stride, float* y, int64_t y_stride, int64_t rows,
                     int64_t columns) noexcept {
  HWY_DYNAMIC_DISPATCH(turn_plane)(x, x_stride, y, y_stride, rows, columns);
}

}  // namespace snug::kernels
#endif
