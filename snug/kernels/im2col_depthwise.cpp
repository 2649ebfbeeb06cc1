#include "snug/kernels/im2col_depthwise.h"

#include "snug/kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "snug/kernels/im2col_depthwise.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace snug::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// kVectors vectors of channels at once, so that chains of multiply-adds overlap.
template <int kVectors, class D>
HWY_INLINE void PixelChannels(D d, const DepthwiseTap* taps, int64_t count, int64_t offset,
                              int64_t c, const float* bias, float* to) {
  const int64_t lanes = hn::Lanes(d);
  hn::Vec<D> sum[kVectors];
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) sum[v] = hn::Zero(d);
  for (int64_t t = 0; t < count; ++t) {
    const float *pixel = taps[t].pixel + offset + c, *weights = taps[t].weights + c;
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      sum[v] =
          hn::MulAdd(hn::LoadU(d, pixel + v * lanes), hn::LoadU(d, weights + v * lanes), sum[v]);
    }
  }
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) {
    if (bias) sum[v] = hn::Add(sum[v], hn::LoadU(d, bias + c + v * lanes));
    hn::StoreU(sum[v], d, to + c + v * lanes);
  }
}

HWY_INLINE void Pixel(const DepthwiseTap* taps, int64_t count, int64_t offset, int64_t channels,
                      const float* bias, float* to) {
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 1> one;
  const int64_t n = hn::Lanes(d);
  int64_t c = 0;
  for (; c + 6 * n <= channels; c += 6 * n) PixelChannels<6>(d, taps, count, offset, c, bias, to);
  for (; c + 2 * n <= channels; c += 2 * n) PixelChannels<2>(d, taps, count, offset, c, bias, to);
  for (; c + n <= channels; c += n) PixelChannels<1>(d, taps, count, offset, c, bias, to);
  for (; c < channels; ++c) PixelChannels<1>(one, taps, count, offset, c, bias, to);
}

void Pixels(const DepthwiseTap* taps, int64_t count, int64_t step, int64_t pixels, int64_t channels,
            const float* bias, float* to) {
  for (int64_t p = 0; p < pixels; ++p) {
    Pixel(taps, count, p * step, channels, bias, to + p * channels);
  }
}

template <int kVectors, class D>
HWY_INLINE void RowChannels(D d, const float* x, int64_t x_stride, const float* dy,
                            int64_t dy_stride, int64_t count, float* total) {
  const int64_t lanes = hn::Lanes(d);
  hn::Vec<D> sum[kVectors];
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) sum[v] = hn::Zero(d);
  for (int64_t i = 0; i < count; ++i, x += x_stride, dy += dy_stride) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      sum[v] = hn::MulAdd(hn::LoadU(d, x + v * lanes), hn::LoadU(d, dy + v * lanes), sum[v]);
    }
  }
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) {
    hn::StoreU(hn::Add(hn::LoadU(d, total + v * lanes), sum[v]), d, total + v * lanes);
  }
}

void Row(const float* x, int64_t x_stride, const float* dy, int64_t dy_stride, int64_t count,
         int64_t channels, float* sum) {
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 1> one;
  const int64_t lanes = hn::Lanes(d);
  int64_t c = 0;
  for (; c + 6 * lanes <= channels; c += 6 * lanes) {
    RowChannels<6>(d, x + c, x_stride, dy + c, dy_stride, count, sum + c);
  }
  for (; c + 2 * lanes <= channels; c += 2 * lanes) {
    RowChannels<2>(d, x + c, x_stride, dy + c, dy_stride, count, sum + c);
  }
  for (; c + lanes <= channels; c += lanes) {
    RowChannels<1>(d, x + c, x_stride, dy + c, dy_stride, count, sum + c);
  }
  for (; c < channels; ++c) {
    RowChannels<1>(one, x + c, x_stride, dy + c, dy_stride, count, sum + c);
  }
}

}  // namespace snug::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace snug {

HWY_EXPORT(Pixels);
HWY_EXPORT(Row);

void depthwise_pixels(const DepthwiseTap* taps, int64_t count, int64_t step, int64_t pixels,
                      int64_t channels, const float* bias, float* to) noexcept {
  HWY_DYNAMIC_DISPATCH(Pixels)(taps, count, step, pixels, channels, bias, to);
}

void depthwise_row(const float* x, int64_t x_stride, const float* dy, int64_t dy_stride,
                   int64_t count, int64_t channels, float* sum) noexcept {
  HWY_DYNAMIC_DISPATCH(Row)(x, x_stride, dy, dy_stride, count, channels, sum);
}

}  // namespace snug
#endif
