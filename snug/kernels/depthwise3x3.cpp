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

// Calls pixel(j, left, middle, right) for each of `count` pixels, with the columns of the image
// under its three columns of taps; each column is loaded once.
template <class F>
HWY_INLINE void for_pixels(const ThreeRows& rows, int64_t first, int64_t count, const F& pixel) {
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
template <bool kTurned>
void convolve(const ConvolutionShape& s, DepthwiseStretch rows_of_y, const float* x,
              const float* weights, const float* bias, float* y) {
  const int64_t height = s.out_height(), width = s.out_width(), channels = s.channels;
  for (int64_t row = rows_of_y.begin; row < rows_of_y.end; ++row) {
    const float* image = x + row / height * s.height * s.width * channels;
    float* to = y + row * width * channels;
    // The lines of the next row, which no other row has touched, are called for.
    const int64_t next_row = row % height - s.top + 3;
    const bool reads = next_row >= 0 && next_row < s.height;
    const float* next_x = reads ? image + next_row * s.width * channels : to;
    const float* next_y = row + 1 < rows_of_y.end ? to + width * channels : to;
    for (int64_t c = 0; c < channels; c += kLanes) {
      V taps[9];
      for (int t = 0; t < 9; ++t) taps[t] = load(weights + (kTurned ? 8 - t : t) * channels + c);
      const V start = bias ? load(bias + c) : hn::Zero(d);
      const ThreeRows rows(s, image + c, row % height - s.top);
      for_pixels(rows, -s.left, width,
                 [&](int64_t j, const V(&l)[3], const V(&m)[3], const V(&r)[3]) HWY_ATTR {
                   call_for(next_x + j * channels + c);
                   call_for(next_y + j * channels + c);
                   // Two chains, so that one need not wait for the other.
                   const V outer = column_sum(column_sum(start, l, taps, 0), r, taps, 2);
                   store(hn::Add(outer, column_sum(hn::Zero(d), m, taps, 1)),
                         to + j * channels + c);
                 });
    }
  }
}

void forward(const ConvolutionShape& s, DepthwiseStretch rows, const float* x, const float* weights,
             const float* bias, float* y) {
  convolve<false>(s, rows, x, weights, bias, y);
}

void input_gradient(const ConvolutionShape& s, DepthwiseStretch rows, const float* dy,
                    const float* weights, float* dx) {
  convolve<true>(s, rows, dy, weights, nullptr, dx);
}

void weights_gradient(const ConvolutionShape& s, DepthwiseStretch vectors, const float* x,
                      const float* dy, float* dw, bool accumulate) {
  const int64_t height = s.out_height(), width = s.out_width(), channels = s.channels;
  const int64_t first = vectors.begin * kLanes, last = vectors.end * kLanes;
  for (int t = 0; t < 9 && !accumulate; ++t)
    std::fill_n(dw + t * channels + first, last - first, 0.0f);
  for (int64_t row = 0; row < s.batch * height; ++row) {
    const float* image = x + row / height * s.height * s.width * channels;
    const float* from = dy + row * width * channels;
    for (int64_t c = first; c < last; c += kLanes) {
      V sums[9];
      for (V& sum : sums) sum = hn::Zero(d);
      const ThreeRows rows(s, image + c, row % height - s.top);
      for_pixels(rows, -s.left, width,
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

}  // namespace snug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace snug::kernels {

HWY_EXPORT(vector_lanes);
HWY_EXPORT(forward);
HWY_EXPORT(input_gradient);
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
         s.kernel_width == 3 && s.stride_height == 1 && s.stride_width == 1 &&
         s.dilation_height == 1 && s.dilation_width == 1 &&
         std::max({s.top, s.left, s.bottom, s.right}) <= 1 &&
         std::min({s.top, s.left, s.bottom, s.right}) >= 0 && s.channels % lanes == 0;
}

bool depthwise3x3_serves_input_gradient(const ConvolutionShape& s) {
  return depthwise3x3_serves(s) && depthwise3x3_serves(turned(s));
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
  HWY_DYNAMIC_DISPATCH(input_gradient)(turned(shape), rows, dy, weights, dx);
}

void depthwise3x3_weights_gradient(const ConvolutionShape& shape, DepthwiseStretch vectors,
                                   const float* x, const float* dy, float* dw,
                                   bool accumulate) noexcept {
  HWY_DYNAMIC_DISPATCH(weights_gradient)(shape, vectors, x, dy, dw, accumulate);
}

}  // namespace snug::kernels
#endif
