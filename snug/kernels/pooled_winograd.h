// The results of a 3 x 3 convolution under 2 x 2 max pooling windows with 16 products for the four
// of a window instead of 36 (Winograd's F(2 x 2, 3 x 3), as in winograd.h), and the largest of the
// four at once. What is infinite under a window may make it NaN.
#pragma once

#include "snug/kernels/pooled_windows.h"

namespace snug {

// Whether it is ahead of the direct loops on this machine: it needs many registers.
bool winograd_pools();

// The floats of weights [3, 3, channels, filters] as points; filters come in sixteens.
int64_t pooled_points_floats(int64_t channels, int64_t filters);
void pack_pooled_points(const float* weights, int64_t channels, int64_t filters,
                        float* points) noexcept;
// Scratch for the points of some windows, in floats.
int64_t window_points_floats(int64_t channels);

// y and places [rows, columns, filters]: the largest of each window and its place. The first NaN
// wins, or the first of equals. bias [filters] or null.
void winograd_pooled(const WindowBand& band, const float* points, const float* bias,
                     float* window_points, float* y, uint8_t* places) noexcept;

}  // namespace snug
