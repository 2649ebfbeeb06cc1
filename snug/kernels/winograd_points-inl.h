// The sums of Winograd's F(2 x 2, 3 x 3) on one vector of channels. In one dimension the two
// results of four pixels p and three taps w are
//   m0 + m1 + m2 and m1 - m2 - m3, where
//   m0 = (p0 - p2) w0, m1 = (p1 + p2) (w0 + w1 + w2) / 2,
//   m2 = (p2 - p1) (w0 - w1 + w2) / 2, m3 = (p1 - p3) w2;
// in two dimensions rows and columns are treated alike. A result is made of its own pixels alone,
// so that a NaN shows where it does otherwise. Included once for each target.

#if defined(SNUG_KERNELS_WINOGRAD_POINTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SNUG_KERNELS_WINOGRAD_POINTS_INL_H_
#undef SNUG_KERNELS_WINOGRAD_POINTS_INL_H_
#else
#define SNUG_KERNELS_WINOGRAD_POINTS_INL_H_
#endif

#include "snug/kernels/gemm_tile-inl.h"
#include "snug/kernels/winograd_tiles.h"

HWY_BEFORE_NAMESPACE();
namespace snug::HWY_NAMESPACE {

// Row kRow of the points of a column of four pixels.
template <int kRow>
HWY_INLINE V PixelColumn(const float* HWY_RESTRICT p, int64_t row) {
  const D d;
  if constexpr (kRow == 0) return hn::Sub(hn::LoadU(d, p), hn::LoadU(d, p + 2 * row));
  if constexpr (kRow == 1) return hn::Add(hn::LoadU(d, p + row), hn::LoadU(d, p + 2 * row));
  if constexpr (kRow == 2) return hn::Sub(hn::LoadU(d, p + 2 * row), hn::LoadU(d, p + row));
  return hn::Sub(hn::LoadU(d, p + row), hn::LoadU(d, p + 3 * row));
}

template <int kRow>
HWY_INLINE void PixelRow(const float* HWY_RESTRICT p, int64_t row, int64_t pixel,
                         float* HWY_RESTRICT to, int64_t stride) {
  const D d;
  const V a = PixelColumn<kRow>(p, row), b = PixelColumn<kRow>(p + pixel, row);
  const V c = PixelColumn<kRow>(p + 2 * pixel, row), e = PixelColumn<kRow>(p + 3 * pixel, row);
  float* HWY_RESTRICT at = to + 4 * kRow * stride;
  hn::StoreU(hn::Sub(a, c), d, at);
  hn::StoreU(hn::Add(b, c), d, at + stride);
  hn::StoreU(hn::Sub(c, b), d, at + 2 * stride);
  hn::StoreU(hn::Sub(b, e), d, at + 3 * stride);
}

HWY_INLINE void PixelRows(WinogradRange rows, const float* HWY_RESTRICT p, int64_t row,
                          int64_t pixel, float* HWY_RESTRICT to, int64_t stride) {
  if (rows.begin <= 0 && rows.end > 0) PixelRow<0>(p, row, pixel, to, stride);
  if (rows.begin <= 1 && rows.end > 1) PixelRow<1>(p, row, pixel, to, stride);
  if (rows.begin <= 2 && rows.end > 2) PixelRow<2>(p, row, pixel, to, stride);
  if (rows.begin <= 3 && rows.end > 3) PixelRow<3>(p, row, pixel, to, stride);
}

#if HWY_TARGET == HWY_AVX3

HWY_INLINE void StorePixelRow(V a, V b, V c, V e, float* HWY_RESTRICT at, int64_t stride) {
  const D d;
  hn::StoreU(hn::Sub(a, c), d, at);
  hn::StoreU(hn::Add(b, c), d, at + stride);
  hn::StoreU(hn::Sub(c, b), d, at + 2 * stride);
  hn::StoreU(hn::Sub(b, e), d, at + 3 * stride);
}

// All four rows: with 32 registers each pixel is loaded once.
HWY_INLINE void AllPixelRows(const float* HWY_RESTRICT p, int64_t row, int64_t pixel,
                             float* HWY_RESTRICT to, int64_t stride) {
  const D d;
  V v[4][4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) v[i][j] = hn::LoadU(d, p + i * row + j * pixel);
  }
  StorePixelRow(hn::Sub(v[0][0], v[2][0]), hn::Sub(v[0][1], v[2][1]), hn::Sub(v[0][2], v[2][2]),
                hn::Sub(v[0][3], v[2][3]), to, stride);
  StorePixelRow(hn::Add(v[1][0], v[2][0]), hn::Add(v[1][1], v[2][1]), hn::Add(v[1][2], v[2][2]),
                hn::Add(v[1][3], v[2][3]), to + 4 * stride, stride);
  StorePixelRow(hn::Sub(v[2][0], v[1][0]), hn::Sub(v[2][1], v[1][1]), hn::Sub(v[2][2], v[1][2]),
                hn::Sub(v[2][3], v[1][3]), to + 8 * stride, stride);
  StorePixelRow(hn::Sub(v[1][0], v[3][0]), hn::Sub(v[1][1], v[3][1]), hn::Sub(v[1][2], v[3][2]),
                hn::Sub(v[1][3], v[3][3]), to + 12 * stride, stride);
}

#else

HWY_INLINE void AllPixelRows(const float* HWY_RESTRICT p, int64_t row, int64_t pixel,
                             float* HWY_RESTRICT to, int64_t stride) {
  PixelRows({0, 4}, p, row, pixel, to, stride);
}

#endif

// The points of the gradient of a tile's results: y0, y0 + y1, y0 - y1 and y1 (whose sign
// WeightsOfSums minds).
template <int kRow>
HWY_INLINE V GradientColumn(const float* HWY_RESTRICT p, int64_t row) {
  const D d;
  if constexpr (kRow == 0) return hn::LoadU(d, p);
  if constexpr (kRow == 1) return hn::Add(hn::LoadU(d, p), hn::LoadU(d, p + row));
  if constexpr (kRow == 2) return hn::Sub(hn::LoadU(d, p), hn::LoadU(d, p + row));
  return hn::LoadU(d, p + row);
}

template <int kRow>
HWY_INLINE void GradientRow(const float* HWY_RESTRICT p, int64_t row, int64_t pixel,
                            float* HWY_RESTRICT to, int64_t stride) {
  const D d;
  const V a = GradientColumn<kRow>(p, row), b = GradientColumn<kRow>(p + pixel, row);
  float* HWY_RESTRICT at = to + 4 * kRow * stride;
  hn::StoreU(a, d, at);
  hn::StoreU(hn::Add(a, b), d, at + stride);
  hn::StoreU(hn::Sub(a, b), d, at + 2 * stride);
  hn::StoreU(b, d, at + 3 * stride);
}

HWY_INLINE void GradientRows(WinogradRange rows, const float* HWY_RESTRICT p, int64_t row,
                             int64_t pixel, float* HWY_RESTRICT to, int64_t stride) {
  if (rows.begin <= 0 && rows.end > 0) GradientRow<0>(p, row, pixel, to, stride);
  if (rows.begin <= 1 && rows.end > 1) GradientRow<1>(p, row, pixel, to, stride);
  if (rows.begin <= 2 && rows.end > 2) GradientRow<2>(p, row, pixel, to, stride);
  if (rows.begin <= 3 && rows.end > 3) GradientRow<3>(p, row, pixel, to, stride);
}

// Where the 2 x 2 results of a tile go, as far as they exist.
struct ResultPlace {
  float* y;
  int64_t row_stride, pixel_stride;
  bool two_rows, two_columns;
};

HWY_INLINE void ResultOfPoints(const float* HWY_RESTRICT m, int64_t stride, V bias,
                               const ResultPlace& place, int64_t filter) {
  const D d;
  V above[4], below[4];
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const V m0 = hn::LoadU(d, m + j * stride), m1 = hn::LoadU(d, m + (4 + j) * stride);
    const V m2 = hn::LoadU(d, m + (8 + j) * stride), m3 = hn::LoadU(d, m + (12 + j) * stride);
    above[j] = hn::Add(hn::Add(m0, m1), m2);
    below[j] = hn::Sub(hn::Sub(m1, m2), m3);
  }
  const auto first = [&](const V(&r)[4]) {
    return hn::Add(hn::Add(hn::Add(r[0], r[1]), r[2]), bias);
  };
  const auto second = [&](const V(&r)[4]) {
    return hn::Add(hn::Sub(hn::Sub(r[1], r[2]), r[3]), bias);
  };
  float* y = place.y + filter;
  hn::StoreU(first(above), d, y);
  if (place.two_columns) hn::StoreU(second(above), d, y + place.pixel_stride);
  if (!place.two_rows) return;
  hn::StoreU(first(below), d, y + place.row_stride);
  if (place.two_columns) hn::StoreU(second(below), d, y + place.row_stride + place.pixel_stride);
}

// The four points of three taps.
HWY_INLINE void TapPoints(V w0, V w1, V w2, V (&to)[4]) {
  const V half = hn::Set(D(), 0.5f);
  const V ends = hn::Mul(half, hn::Add(w0, w2)), middle = hn::Mul(half, w1);
  to[0] = w0;
  to[1] = hn::Add(ends, middle);
  to[2] = hn::Sub(ends, middle);
  to[3] = w2;
}

HWY_INLINE void PointsOfWeights(const float* HWY_RESTRICT w, int64_t tap, float* HWY_RESTRICT to,
                                int64_t stride) {
  const D d;
  V columns[3][4];
#pragma GCC unroll 3
  for (int j = 0; j < 3; ++j) {
    TapPoints(hn::LoadU(d, w + j * tap), hn::LoadU(d, w + (3 + j) * tap),
              hn::LoadU(d, w + (6 + j) * tap), columns[j]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    V row[4];
    TapPoints(columns[0][i], columns[1][i], columns[2][i], row);
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) hn::StoreU(row[j], d, to + (4 * i + j) * stride);
  }
}

// The taps' gradients from four sums, the last of which has the other sign.
HWY_INLINE void TapsOfSums(V m0, V m1, V m2, V m3, V (&to)[3]) {
  const V half = hn::Set(D(), 0.5f);
  const V both = hn::Mul(half, hn::Add(m1, m2));
  to[0] = hn::Add(m0, both);
  to[1] = hn::Mul(half, hn::Sub(m1, m2));
  to[2] = hn::Sub(both, m3);
}

HWY_INLINE void WeightsOfSums(const float* HWY_RESTRICT m, int64_t stride, bool accumulate,
                              float* HWY_RESTRICT dw, int64_t tap) {
  const D d;
  V columns[4][3];
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    TapsOfSums(hn::LoadU(d, m + j * stride), hn::LoadU(d, m + (4 + j) * stride),
               hn::LoadU(d, m + (8 + j) * stride), hn::LoadU(d, m + (12 + j) * stride), columns[j]);
  }
#pragma GCC unroll 3
  for (int i = 0; i < 3; ++i) {
    V taps[3];
    TapsOfSums(columns[0][i], columns[1][i], columns[2][i], columns[3][i], taps);
#pragma GCC unroll 3
    for (int j = 0; j < 3; ++j) {
      float* at = dw + (3 * i + j) * tap;
      hn::StoreU(accumulate ? hn::Add(hn::LoadU(d, at), taps[j]) : taps[j], d, at);
    }
  }
}

}  // namespace snug::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // SNUG_KERNELS_WINOGRAD_POINTS_INL_H_
