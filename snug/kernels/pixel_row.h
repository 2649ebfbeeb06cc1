// A row of pixels brought to another width.
#pragma once

#include <cstdint>

namespace snug::kernels {

// Where a pixel of the result lies: between two pixels of the row.
struct PixelPlace {
  int32_t first = 0, second = 0;  // Their first channels.
  float share = 0;                // Of the second.
};

// Bytes behind the row and elements behind the result that may be touched.
constexpr int64_t kPixelPadding = 4;

// to[j] = row[first] + (row[second] - row[first]) * share for each of `count` pixels and each
// channel, 1 to 4 of them.
void squeeze_pixels(const uint8_t* row, const PixelPlace* places, int64_t count, int64_t channels,
                    float* to) noexcept;

// to[i] = upper[i] + (lower[i] - upper[i]) * share.
void mix_rows(const float* upper, const float* lower, float share, int64_t count,
              float* to) noexcept;

}  // namespace snug::kernels
