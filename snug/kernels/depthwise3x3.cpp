#include "snug/kernels/depthwise3x3.h"

#include <algorithm>

#include "snug/kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "snug/kernels/depthwise3x3.cpp"
#include "hwy/foreach_target.h"  // Compiles what follows once for each instruction set.
#include "snug/kernels/stream-inl.h"

HWY_BEFORE_NAMESPACE();
namespace snug::kernels::HWY_NAMESPACE {

int64_t vector_lanes() { return kLanes; }

// Of three rows of x and one of y: most of the first cache.
constexpr int64_t kCachedFloats = 6144;
// From the row in work to the one that is called for.
constexpr int64_t kRowsAhead = 2;

// Three rows of an image under a row of the kernel's centres, at one vector of channels. A row
// outside the image is zeros without end.
struct ThreeRows {
  static constexpr float kZeros[kLanes] = {};
  const float* rows[3];
  int64_t steps[3];  // from pixel to pixel
  int64_t width;

  ThreeRows(const ConvolutionShape& s, const float* image, int64_t first) : width(s.width) {
    for (int64_t i = 0; i < 3; ++i) {
      const bool inside = first + i >= 0 && first + i < s.height;
      rows[i] = inside ? image + (first + i) * s.width * s.channels : kZeros;
      steps[i] = inside ? s.channels : 0;
    }
  }

  HWY_INLINE void load(int64_t column, V (&v)[3]) const {
    const bool inside = column >= 0 && column < width;
    for (int i = 0; i < 3; ++i)
      v[i] = inside ? hn::LoadU(d, rows[i] + column * steps[i]) : hn::Zero(d);
  }
};

// for_pixels with stride 2: two pixels have one column in common.
template <class F>
HWY_INLINE void for_every_second_pixel(const ThreeRows& rows, int64_t first, int64_t count,
                                       const F& pixel) {
  V a[3], b[3], c[3];
  rows.load(first, a);
  for (int64_t j = 0; j < count; j += 2) {
    rows.load(first + 2 * j + 1, b);
    rows.load(first + 2 * j + 2, c);
    pixel(j, a, b, c);
    if (j + 1 == count) return;
    rows.load(first + 2 * j + 3, b);
    rows.load(first + 2 * j + 4, a);
    pixel(j + 1, c, b, a);
  }
}

// Calls pixel(j, left, middle, right) for each of `count` pixels, with the columns of the image
// under its three columns of taps; each column is loaded once.
template <int kStride, class F>
HWY_INLINE void for_pixels(const ThreeRows& rows, int64_t first, int64_t count, const F& pixel) {
  if constexpr (kStride == 2) return for_every_second_pixel(rows, first, count, pixel);
  V a[3], b[3], c[3];
  rows.load(first, a);
  rows.load(first + 1, b);
  int64_t j = 0;
  for (; j + 3 <= count; j += 3) {
    rows.load(first + j + 2, c);
    pixel(j, a, b, c);
    rows.load(first + j + 3, a);
    pixel(j + 1, b, c, a);
    rows.load(first + j + 4, b);
    pixel(j + 2, c, a, b);
  }
  if (j == count) return;
  rows.load(first + j + 2, c);
  pixel(j, a, b, c);
  if (j + 1 == count) return;
  rows.load(first + j + 3, a);
  pixel(j + 1, b, c, a);
}

HWY_INLINE V column_sum(V sum, const V (&x)[3], const V (&taps)[9], int column) {
  sum = hn::MulAdd(x[0], taps[column], sum);
  sum = hn::MulAdd(x[1], taps[3 + column], sum);
  return hn::MulAdd(x[2], taps[6 + column], sum);
}

// kTurned: the taps in the opposite order.
template <int kStride, bool kTurned>
void convolve_channels(const ConvolutionShape& s, DepthwiseStretch rows_of_y, const float* x,
                       const float* weights, const float* bias, float* y, int64_t first_channel,
                       int64_t last_channel) {
  const int64_t height = s.out_height(), width = s.out_width(), channels = s.channels;
  for (int64_t row = rows_of_y.begin; row < rows_of_y.end; ++row) {
    const float* image = x + row / height * s.height * s.width * channels;
    float* to = y + row * width * channels;
    const int64_t ahead = std::min<int64_t>(kRowsAhead, rows_of_y.end - 1 - row) * width * channels;
    for (int64_t c = first_channel; c < last_channel; c += kLanes) {
      V taps[9];
      for (int t = 0; t < 9; ++t) taps[t] = load(weights + (kTurned ? 8 - t : t) * channels + c);
      const V start = bias ? load(bias + c) : hn::Zero(d);
      const ThreeRows rows(s, image + c, row % height * kStride - s.top);
      for_pixels<kStride>(rows, -s.left, width,
                          [&](int64_t j, const V(&l)[3], const V(&m)[3], const V(&r)[3]) HWY_ATTR {
                            float* at = to + j * channels + c;
                            call_for_later(at + ahead);
                            // Two chains, so that one need not wait for the other.
                            const V outer = column_sum(column_sum(start, l, taps, 0), r, taps, 2);
                            store(hn::Add(outer, column_sum(hn::Zero(d), m, taps, 1)), at);
                          });
    }
  }
}

// Calls work(first, last) for as many channels at a time as keep the rows in work in the first
// cache.
template <class F>
void for_channels(const ConvolutionShape& s, const F& work) {
  const int64_t most = std::max<int64_t>(kCachedFloats / (4 * s.width * kLanes), 1);
  const int64_t vectors = s.channels / kLanes, blocks = (vectors + most - 1) / most;
  for (int64_t b = 0; b < blocks; ++b)
    work(vectors * b / blocks * kLanes, vectors * (b + 1) / blocks * kLanes);
}

void forward(const ConvolutionShape& s, DepthwiseStretch rows, const float* x, const float* weights,
             const float* bias, float* y) {
  const auto convolve =
      s.stride_width == 1 ? convolve_channels<1, false> : convolve_channels<2, false>;
  for_channels(
      s, [&](int64_t first, int64_t last) { convolve(s, rows, x, weights, bias, y, first, last); });
}

// Of stride 1; `turned` is the convolution of dy.
void input_gradient(const ConvolutionShape& turned, DepthwiseStretch rows, const float* dy,
                    const float* weights, float* dx) {
  for_channels(turned, [&](int64_t first, int64_t last) {
    convolve_channels<1, true>(turned, rows, dy, weights, nullptr, dx, first, last);
  });
}

// One row of dx at one vector of channels, for stride 2. A pixel of dx meets the outer two of three
// taps or the middle one, in each direction; kRows is how many rows of dy this row of dx meets.
// The first of them is `first_row`, the other the one above.
template <int kRows>
void spread_row(const ConvolutionShape& s, const float* dy, int64_t first_row, const float* weights,
                float* dx, int64_t ahead) {
  const int64_t channels = s.channels, width = s.width, width_of_dy = s.out_width();
  const float* rows[kRows];
  int64_t counts[kRows];  // of pixels; none of a row outside the image
  V taps[kRows][3], before[kRows];
  for (int i = 0; i < kRows; ++i) {
    const bool inside = first_row - i >= 0 && first_row - i < s.out_height();
    rows[i] = inside ? dy + (first_row - i) * width_of_dy * channels : dy;
    counts[i] = inside ? width_of_dy : 0;
    const int row_of_taps = kRows == 1 ? 1 : 2 * i;
    for (int t = 0; t < 3; ++t) taps[i][t] = load(weights + (3 * row_of_taps + t) * channels);
    before[i] = hn::Zero(d);
  }
  const auto store_pixel = [&](V value, int64_t column) HWY_ATTR {
    float* at = dx + column * channels;
    call_for_later(at + ahead);
    store(value, at);
  };
  for (int64_t j = 0, column = -s.left; column < width; ++j, column += 2) {
    V outer = hn::Zero(d), middle = hn::Zero(d);
    for (int i = 0; i < kRows; ++i) {
      const V now = j < counts[i] ? load(rows[i] + j * channels) : hn::Zero(d);
      outer = hn::MulAdd(now, taps[i][0], hn::MulAdd(before[i], taps[i][2], outer));
      middle = hn::MulAdd(now, taps[i][1], middle);
      before[i] = now;
    }
    if (column >= 0) store_pixel(outer, column);
    if (column + 1 < width) store_pixel(middle, column + 1);
  }
}

void spread_channels(const ConvolutionShape& s, DepthwiseStretch rows, const float* dy,
                     const float* weights, float* dx, int64_t first, int64_t last) {
  const int64_t size = s.width * s.channels, size_of_dy = s.out_height() * s.out_width();
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    const float* image = dy + row / s.height * size_of_dy * s.channels;
    const int64_t ahead = std::min<int64_t>(kRowsAhead, rows.end - 1 - row) * size;
    const int64_t from_top = row % s.height + s.top;
    const auto spread = from_top % 2 == 0 ? spread_row<2> : spread_row<1>;
    for (int64_t c = first; c < last; c += kLanes)
      spread(s, image + c, from_top / 2, weights + c, dx + row * size + c, ahead);
  }
}

void input_gradient_of_stride2(const ConvolutionShape& s, DepthwiseStretch rows, const float* dy,
                               const float* weights, float* dx) {
  for_channels(s, [&](int64_t first, int64_t last) {
    spread_channels(s, rows, dy, weights, dx, first, last);
  });
}

template <int kStride>
void add_weights_gradient(const ConvolutionShape& s, DepthwiseStretch vectors, const float* x,
                          const float* dy, float* dw) {
  const int64_t height = s.out_height(), width = s.out_width(), channels = s.channels;
  const int64_t first = vectors.begin * kLanes, last = vectors.end * kLanes;
  for (int64_t row = 0; row < s.batch * height; ++row) {
    const float* image = x + row / height * s.height * s.width * channels;
    const float* from = dy + row * width * channels;
    for (int64_t c = first; c < last; c += kLanes) {
      V sums[9];
      for (V& sum : sums) sum = hn::Zero(d);
      const ThreeRows rows(s, image + c, row % height * kStride - s.top);
      for_pixels<kStride>(rows, -s.left, width,
                          [&](int64_t j, const V(&l)[3], const V(&m)[3], const V(&r)[3]) HWY_ATTR {
                            const V g = load(from + j * channels + c);
                            for (int i = 0; i < 3; ++i) {
                              sums[3 * i] = hn::MulAdd(l[i], g, sums[3 * i]);
                              sums[3 * i + 1] = hn::MulAdd(m[i], g, sums[3 * i + 1]);
                              sums[3 * i + 2] = hn::MulAdd(r[i], g, sums[3 * i + 2]);
                            }
                          });
      for (int t = 0; t < 9; ++t) {
        float* to = dw + t * channels + c;
        store(hn::Add(load(to), sums[t]), to);
      }
    }
  }
}

void weights_gradient(const ConvolutionShape& s, DepthwiseStretch vectors, const float* x,
                      const float* dy, float* dw, bool accumulate) {
  const int64_t first = vectors.begin * kLanes, last = vectors.end * kLanes;
  for (int t = 0; t < 9 && !accumulate; ++t)
    std::fill_n(dw + t * s.channels + first, last - first, 0.0f);
  const auto add = s.stride_width == 1 ? add_weights_gradient<1> : add_weights_gradient<2>;
  add(s, vectors, x, dy, dw);
}

}  // namespace snug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace snug::kernels {

HWY_EXPORT(vector_lanes);
HWY_EXPORT(forward);
HWY_EXPORT(input_gradient);
HWY_EXPORT(input_gradient_of_stride2);
HWY_EXPORT(weights_gradient);

namespace {

// The convolution of dy that gives dx: as many zeros before dy as there are taps before dx.
ConvolutionShape turned(const ConvolutionShape& s) {
  ConvolutionShape t = s;
  t.height = s.out_height();
  t.width = s.out_width();
  t.top = 2 - s.top;
  t.left = 2 - s.left;
  t.bottom = 2 - s.bottom;
  t.right = 2 - s.right;
  return t;
}

}  // namespace

bool depthwise3x3_serves(const ConvolutionShape& s) {
  const int64_t lanes = HWY_DYNAMIC_DISPATCH(vector_lanes)();
  return s.groups == s.channels && s.filters == s.channels && s.kernel_height == 3 &&
         s.kernel_width == 3 && s.stride_height == s.stride_width && s.stride_width <= 2 &&
         s.dilation_height == 1 && s.dilation_width == 1 &&
         std::max({s.top, s.left, s.bottom, s.right}) <= 1 &&
         std::min({s.top, s.left, s.bottom, s.right}) >= 0 && s.channels % lanes == 0;
}

bool depthwise3x3_serves_input_gradient(const ConvolutionShape& s) {
  return depthwise3x3_serves(s) && (s.stride_width == 2 || depthwise3x3_serves(turned(s)));
}

int64_t depthwise3x3_rows(const ConvolutionShape& shape) {
  return shape.batch * shape.out_height();
}
int64_t depthwise3x3_gradient_rows(const ConvolutionShape& shape) {
  return shape.batch * shape.height;
}
int64_t depthwise3x3_vectors(const ConvolutionShape& shape) {
  return shape.channels / HWY_DYNAMIC_DISPATCH(vector_lanes)();
}

void depthwise3x3(const ConvolutionShape& shape, DepthwiseStretch rows, const float* x,
                  const float* weights, const float* bias, float* y) noexcept {
  HWY_DYNAMIC_DISPATCH(forward)(shape, rows, x, weights, bias, y);
}

void depthwise3x3_input_gradient(const ConvolutionShape& shape, DepthwiseStretch rows,
                                 const float* dy, const float* weights, float* dx) noexcept {
  if (shape.stride_width == 2)
    HWY_DYNAMIC_DISPATCH(input_gradient_of_stride2)(shape, rows, dy, weights, dx);
  else
    HWY_DYNAMIC_DISPATCH(input_gradient)(turned(shape), rows, dy, weights, dx);
}

void depthwise3x3_weights_gradient(const ConvolutionShape& shape, DepthwiseStretch vectors,
                                   const float* x, const float* dy, float* dw,
                                   bool accumulate) noexcept {
  HWY_DYNAMIC_DISPATCH(weights_gradient)(shape, vectors, x, dy, dw, accumulate);
}

}  // namespace snug::kernels
#endif
