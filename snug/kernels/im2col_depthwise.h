// Depthwise convolutions (one filter a channel): direct loops, vectors along the channels.
#pragma once

#include <cstdint>

namespace snug {

// A tap that lies inside, seen from one pixel: what it reads and the weights for it.
struct DepthwiseTap {
  const float* pixel;
  const float* weights;
};

// For each of `pixels` pixels side by side, to[c] = sum over taps of pixel[c] * weights[c], +
// bias[c] unless null. From one pixel to the next each tap's pixel moves by `step` floats.
void depthwise_pixels(const DepthwiseTap* taps, int64_t count, int64_t step, int64_t pixels,
                      int64_t channels, const float* bias, float* to) noexcept;

// sum[c] += sum over i < count of x[i * x_stride + c] * dy[i * dy_stride + c].
void depthwise_row(const float* x, int64_t x_stride, const float* dy, int64_t dy_stride,
                   int64_t count, int64_t channels, float* sum) noexcept;

}  // namespace snug
