#include "snug/kernels/transpose.h"

#include "snug/kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "snug/kernels/transpose.cpp"
#include "hwy/foreach_target.h"  // Compiles what follows once for each instruction set.
#include "snug/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace snug::kernels::HWY_NAMESPACE {

struct Plane {
  const float* x;
  int64_t x_stride;
  float* y;
  int64_t y_stride;
  int64_t rows, columns;
};

#if HWY_TARGET == HWY_SCALAR
HWY_INLINE int64_t turn_strips(D, const Plane&, int64_t row) { return row; }
#else
constexpr int64_t kSquare = 4, kLineFloats = 16;

// Blocks of four floats, `step` apart.
template <class DX>
HWY_INLINE hn::Vec<DX> load_blocks(DX dx, const float* x, int64_t step) {
  constexpr auto kBlocks = static_cast<int64_t>(hn::MaxLanes(DX())) / kSquare;
  if constexpr (kBlocks == 1) {
    return hn::LoadU(dx, x);
  } else {
    const hn::Half<DX> half;
    return hn::Combine(dx, load_blocks(half, x + kBlocks / 2 * step, step),
                       load_blocks(half, x, step));
  }
}

// Four floats of each of as many rows as a vector has lanes become four whole vectors.
template <class DX>
HWY_INLINE void turn_square(DX dx, const float* x, int64_t x_stride, float* y, int64_t y_stride) {
  const hn::RepartitionToWide<DX> pairs;
  const int64_t step = kSquare * x_stride;
  const auto a = load_blocks(dx, x, step), b = load_blocks(dx, x + x_stride, step);
  const auto c = load_blocks(dx, x + 2 * x_stride, step),
             e = load_blocks(dx, x + 3 * x_stride, step);
  const auto ab_low = hn::BitCast(pairs, hn::InterleaveLower(dx, a, b)),
             ab_high = hn::BitCast(pairs, hn::InterleaveUpper(dx, a, b)),
             ce_low = hn::BitCast(pairs, hn::InterleaveLower(dx, c, e)),
             ce_high = hn::BitCast(pairs, hn::InterleaveUpper(dx, c, e));
  const auto put = [=](auto v, int64_t row)
                       HWY_ATTR { hn::StoreU(hn::BitCast(dx, v), dx, y + row * y_stride); };
  put(hn::InterleaveLower(pairs, ab_low, ce_low), 0);
  put(hn::InterleaveUpper(pairs, ab_low, ce_low), 1);
  put(hn::InterleaveLower(pairs, ab_high, ce_high), 2);
  put(hn::InterleaveUpper(pairs, ab_high, ce_high), 3);
}

// Lines that stand apart are not foreseen by the hardware: with each square some lines of the next
// strip of `lanes` rows are called for, and those that are written a few squares later.
HWY_INLINE void call_for_lines(const Plane& p, int64_t row, int64_t column, int64_t lanes) {
  const int64_t line = column / kLineFloats * kLineFloats, part = column % kLineFloats / kSquare;
  for (int64_t k = part * lanes / kSquare; k < (part + 1) * lanes / kSquare; ++k)
    __builtin_prefetch(p.x + (row + lanes + k) * p.x_stride + line, 0, 2);
  const int64_t later = column + kLineFloats, wraps = later >= p.columns ? 1 : 0;
  for (int64_t k = 0; k < kSquare; ++k) {
    __builtin_prefetch(p.y + (later - wraps * p.columns + k) * p.y_stride + row + wraps * lanes, 0,
                       2);
  }
}

// Turns the strips of whole vectors from `row` on; answers the first row that is left.
template <class DX>
HWY_INLINE int64_t turn_strips(DX dx, const Plane& p, int64_t row) {
  constexpr int64_t kCached = 64 * 1024;
  constexpr auto kStrip = static_cast<int64_t>(hn::MaxLanes(DX()));
  const bool far = p.rows * p.columns > kCached;
  for (; row + kStrip <= p.rows; row += kStrip) {
    for (int64_t c = 0; c + kSquare <= p.columns; c += kSquare) {
      if (far) call_for_lines(p, row, c, kStrip);
      turn_square(dx, p.x + row * p.x_stride + c, p.x_stride, p.y + c * p.y_stride + row,
                  p.y_stride);
    }
    for (int64_t c = p.columns / kSquare * kSquare; c < p.columns; ++c) {
      for (int64_t r = row; r < row + kStrip; ++r)
        p.y[c * p.y_stride + r] = p.x[r * p.x_stride + c];
    }
  }
  if constexpr (kStrip > kSquare) return turn_strips(hn::Half<DX>(), p, row);
  return row;
}
#endif

void turn_plane(const float* x, int64_t x_stride, float* y, int64_t y_stride, int64_t rows,
                int64_t columns) {
  const Plane plane{x, x_stride, y, y_stride, rows, columns};
  for (int64_t r = turn_strips(d, plane, 0); r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) y[c * y_stride + r] = x[r * x_stride + c];
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
