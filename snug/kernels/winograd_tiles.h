// The loops of winograd.h over some tiles, on one thread. A tile is 2 x 2 results and the 4 x 4
// pixels that they read; both are turned into 16 points, at each of which channels and filters meet
// in a matrix product of their own.
#pragma once

#include <cstddef>
#include <cstdint>

#include "snug/kernels/im2col.h"

namespace snug {

struct WinogradRange {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
};

// Channels and filters come in groups of so many.
constexpr int64_t kWinogradGroup = 16;
constexpr int64_t kWinogradPoints = 16;

// The tiles of all images, numbered along rows.
inline int64_t winograd_tiles(const ConvolutionShape& s) {
  return s.batch * ((s.out_height() + 1) / 2) * ((s.out_width() + 1) / 2);
}

// The points of weights [3, 3, channels, filters], in panels of filters. With `transposed` the
// weights are [3, 3, filters, channels] with their taps the other way round: those of the gradient.
void winograd_pack(const float* weights, int64_t channels, int64_t filters, bool transposed,
                   float* packed) noexcept;

// The results of some tiles; bias [filters] or null. Scratch is of so many floats.
int64_t winograd_forward_floats(const ConvolutionShape& s, int64_t tiles);
void winograd_forward(const ConvolutionShape& s, const float* x, WinogradRange tiles,
                      const float* packed, const float* bias, float* y, float* scratch) noexcept;

// A part of the gradient of the weights: of these channels, at the points of these rows (of four).
struct WinogradPart {
  WinogradRange channels, rows;
};

// The floats of all points of [channels, filters].
int64_t winograd_sum_floats(const ConvolutionShape& s);
int64_t winograd_weights_floats(const ConvolutionShape& s, const WinogradPart& part, int64_t tiles);
// What some tiles give to the points of a part, added to `sums` or overwriting them.
void winograd_weights(const ConvolutionShape& s, const float* x, const float* dy,
                      WinogradRange tiles, const WinogradPart& part, bool add, float* sums,
                      float* scratch) noexcept;
// dw of these channels from the points, added to dw or overwriting it.
void winograd_weights_result(const ConvolutionShape& s, const float* sums, WinogradRange channels,
                             bool accumulate, float* dw) noexcept;

}  // namespace snug
