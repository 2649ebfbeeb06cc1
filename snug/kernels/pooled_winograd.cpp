#include "snug/kernels/pooled_winograd.h"

#include <algorithm>

#include "snug/kernels/simd.h"

#ifndef SNUG_KERNELS_POOLED_WINOGRAD_ONCE_
#define SNUG_KERNELS_POOLED_WINOGRAD_ONCE_
namespace snug {

constexpr int64_t kFilters = 16;  // in work at a time
constexpr int64_t kWindows = 16;  // whose points are made at a time
constexpr int64_t kPoints = 16;   // of a window: 4 x 4

}  // namespace snug
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "snug/kernels/pooled_winograd.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace snug::HWY_NAMESPACE {

#if HWY_TARGET <= HWY_AVX3
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::FixedTag<float, kFilters>;
using DI = hn::RebindToSigned<D>;
using V = hn::Vec<D>;

// Four pixels, or four rows of pixels, as points.
HWY_INLINE void ToPoints(V a, V b, V c, V e, V (&points)[4]) {
  points[0] = hn::Sub(a, c);
  points[1] = hn::Add(b, c);
  points[2] = hn::Sub(c, b);
  points[3] = hn::Sub(b, e);
}

// The points of up to sixteen windows side by side, at one channel: [kPoints] with `stride` floats
// from one to the next.
HWY_INLINE void PointsOfPixels(const float* pixels, int64_t row_stride, int64_t windows, float* to,
                               int64_t stride) {
  const D d;
  const auto there = hn::FirstN(d, static_cast<size_t>(windows));
  V rows[4][4];
#pragma GCC unroll 4
  for (int r = 0; r < 4; ++r, pixels += row_stride) {
    V first, second, third, fourth;
    hn::LoadInterleaved2(d, pixels, first, second);
    hn::LoadInterleaved2(d, pixels + 2, third, fourth);
    ToPoints(first, second, third, fourth, rows[r]);
  }
#pragma GCC unroll 4
  for (int column = 0; column < 4; ++column) {
    V points[4];
    ToPoints(rows[0][column], rows[1][column], rows[2][column], rows[3][column], points);
#pragma GCC unroll 4
    for (int r = 0; r < 4; ++r)
      hn::BlendedStore(points[r], there, d, to + (r * 4 + column) * stride);
  }
}

// Three taps as four points.
HWY_INLINE void TapsToPoints(V a, V b, V c, V (&points)[4]) {
  const D d;
  const V half = hn::Set(d, 0.5f);
  const V ends = hn::Mul(hn::Add(a, c), half), middle = hn::Mul(b, half);
  points[0] = a;
  points[1] = hn::Add(ends, middle);
  points[2] = hn::Sub(ends, middle);
  points[3] = c;
}

// [filters / 16][4 rows of points][channels][4 points][16 filters], as they are read.
void PackPoints(const float* weights, int64_t channels, int64_t filters, float* to) {
  const D d;
  const int64_t tap = channels * filters;
  for (int64_t f = 0; f < filters; f += kFilters, to += kPoints * channels * kFilters) {
    for (int64_t c = 0; c < channels; ++c) {
      const float* from = weights + c * filters + f;
      V rows[3][4];
      for (int r = 0; r < 3; ++r, from += 3 * tap)
        TapsToPoints(hn::LoadU(d, from), hn::LoadU(d, from + tap), hn::LoadU(d, from + 2 * tap),
                     rows[r]);
      for (int64_t column = 0; column < 4; ++column) {
        V points[4];
        TapsToPoints(rows[0][column], rows[1][column], rows[2][column], points);
        for (int64_t r = 0; r < 4; ++r)
          hn::StoreU(points[r], d, to + ((r * channels + c) * 4 + column) * kFilters);
      }
    }
  }
}

struct WindowOutput {
  V bias;
  float* y;
  uint8_t* places;
  int64_t stride;  // from one window to the next
};

// The four results of a window, in the order of their places.
HWY_INLINE void StoreLargestOfFour(const V (&results)[4], int window, const WindowOutput& out) {
  const D d;
  const DI di;
  const hn::Rebind<uint8_t, DI> bytes;
  V largest = hn::Add(results[0], out.bias);
  hn::Vec<DI> place = hn::Zero(di);
#pragma GCC unroll 4
  for (int i = 1; i < 4; ++i) {
    const V value = hn::Add(results[i], out.bias);
    const auto wins = hn::And(hn::Not(hn::Le(value, largest)), hn::Eq(largest, largest));
    largest = hn::IfThenElse(wins, value, largest);
    place = hn::IfThenElse(hn::RebindMask(di, wins), hn::Set(di, i), place);
  }
  hn::StoreU(largest, d, out.y + window * out.stride);
  hn::StoreU(hn::DemoteTo(bytes, place), bytes, out.places + window * out.stride);
}

// Adds what a row of products is to the four results.
template <int kRow>
HWY_INLINE void AddRow(const V (&products)[4], V (&results)[4]) {
  const V left = hn::Add(hn::Add(products[0], products[1]), products[2]);
  const V right = hn::Sub(hn::Sub(products[1], products[2]), products[3]);
  if (kRow == 0) {
    results[0] = left, results[1] = right;
  } else if (kRow < 3) {
    results[0] = hn::Add(results[0], left), results[1] = hn::Add(results[1], right);
  }
  if (kRow == 1) {
    results[2] = left, results[3] = right;
  } else if (kRow > 1) {
    results[2] = hn::Sub(results[2], left), results[3] = hn::Sub(results[3], right);
  }
}

// One row of points of some windows and all channels.
template <int kRow, int kSome>
HWY_INLINE void RowOfProducts(const float* HWY_RESTRICT weights, const float* HWY_RESTRICT windows,
                              int64_t channels, V (&results)[kSome][4]) {
  const D d;
  V products[kSome][4];
#pragma GCC unroll 12
  for (int i = 0; i < kSome * 4; ++i) products[i / 4][i % 4] = hn::Zero(d);
  weights += kRow * channels * 4 * kFilters;
  windows += kRow * 4 * channels * kWindows;
  for (int64_t c = 0; c < channels; ++c, weights += 4 * kFilters, windows += kWindows) {
#pragma GCC unroll 4
    for (int column = 0; column < 4; ++column) {
      V weight = hn::LoadU(d, weights + column * kFilters);
      asm("" : "+v"(weight.raw));  // Loaded once, not by each product.
#pragma GCC unroll 3
      for (int w = 0; w < kSome; ++w) {
        const V point = hn::Set(d, windows[column * channels * kWindows + w]);
        products[w][column] = hn::MulAdd(point, weight, products[w][column]);
      }
    }
  }
#pragma GCC unroll 3
  for (int w = 0; w < kSome; ++w) AddRow<kRow>(products[w], results[w]);
}

template <int kSome>
void PoolSome(const float* weights, const float* windows, int64_t channels,
              const WindowOutput& out) {
  V results[kSome][4];
  RowOfProducts<0, kSome>(weights, windows, channels, results);
  RowOfProducts<1, kSome>(weights, windows, channels, results);
  RowOfProducts<2, kSome>(weights, windows, channels, results);
  RowOfProducts<3, kSome>(weights, windows, channels, results);
#pragma GCC unroll 3
  for (int w = 0; w < kSome; ++w) StoreLargestOfFour(results[w], w, out);
}

// So many windows, one behind the other.
HWY_INLINE void PoolAll(const WindowBand& band, const float* weights, const float* bias,
                        const float* points, int64_t windows, float* y, uint8_t* places) {
  const D d;
  for (int64_t f = 0; f < band.filters; f += kFilters) {
    const float* own = weights + f * kPoints * band.channels;
    const V own_bias = bias != nullptr ? hn::LoadU(d, bias + f) : hn::Zero(d);
    for (int64_t w = 0; w < windows; w += 3) {
      const int64_t at = w * band.filters + f;
      const int64_t left = windows - w;
      const auto pool = left >= 3 ? PoolSome<3> : left == 2 ? PoolSome<2> : PoolSome<1>;
      pool(own, points + w, band.channels, {own_bias, y + at, places + at, band.filters});
    }
  }
}

void WinogradPooled(const WindowBand& band, const float* weights, const float* bias, float* points,
                    float* y, uint8_t* places) {
  const int64_t channels = band.channels;
  const int64_t together = std::max<int64_t>(1, kWindows / band.columns);  // Short rows.
  for (int64_t row = 0; row < band.rows; row += together) {
    const int64_t rows = std::min(together, band.rows - row);
    for (int64_t first = 0; first < band.columns; first += kWindows) {
      const int64_t width = std::min(kWindows, band.columns - first);
      for (int64_t i = 0; i < rows; ++i) {
        const float* pixels = band.planes + 2 * (row + i) * band.pixel_columns() + 2 * first;
        for (int64_t c = 0; c < channels; ++c)
          PointsOfPixels(pixels + c * band.plane(), band.pixel_columns(), width,
                         points + c * kWindows + i * width, channels * kWindows);
      }
      const int64_t at = (row * band.columns + first) * band.filters;
      PoolAll(band, weights, bias, points, rows * width, y + at, places + at);
    }
  }
}

bool PoolsByWindows() { return true; }
#else
void PackPoints(const float*, int64_t, int64_t, float*) {}
void WinogradPooled(const WindowBand&, const float*, const float*, float*, float*, uint8_t*) {}
bool PoolsByWindows() { return false; }
#endif

}  // namespace snug::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace snug {

HWY_EXPORT(PoolsByWindows);
HWY_EXPORT(PackPoints);
HWY_EXPORT(WinogradPooled);

bool winograd_pools() { return HWY_DYNAMIC_DISPATCH(PoolsByWindows)(); }

int64_t pooled_points_floats(int64_t channels, int64_t filters) {
  return kPoints * channels * filters;
}

void pack_pooled_points(const float* weights, int64_t channels, int64_t filters,
                        float* points) noexcept {
  HWY_DYNAMIC_DISPATCH(PackPoints)(weights, channels, filters, points);
}

int64_t window_points_floats(int64_t channels) { return kPoints * channels * kWindows; }

void winograd_pooled(const WindowBand& band, const float* points, const float* bias,
                     float* window_points, float* y, uint8_t* places) noexcept {
  HWY_DYNAMIC_DISPATCH(WinogradPooled)(band, points, bias, window_points, y, places);
}

}  // namespace snug
#endif
