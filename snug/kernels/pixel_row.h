// A row of pixels brought to another width.
#pragma once

#include <cstdint>

namespace snug::kernels {

// Where a pixel of the result lies: between two pixels of the row.
struct PixelPlace {
  int32_t first = 0, second = 0;  // Their first channels.
  float share = 0;                // Of the second.
};

// Where two neighbouring pixels of the result lie, all within 16 bytes of the row.
struct PixelPair {
  int32_t at = 0;          // Where these bytes begin.
  uint8_t bytes[16] = {};  // Which of them are mixed: eight first ones, eight second ones.
  float share[8] = {};     // Of the second ones.
};

// Bytes behind the row and elements behind the result that may be touched.
constexpr int64_t kPixelPadding = 16;

// The places by pairs, the last of an odd number twice. False where the bytes of one stand too far
// apart, or channels are not 3 or 4.
bool pair_pixels(const PixelPlace* places, int64_t count, int64_t channels,
                 PixelPair* pairs) noexcept;

// to[j] = row[first] + (row[second] - row[first]) * share for each of `count` pixels and each
// channel, 1 to 4 of them.
void squeeze_pixels(const uint8_t* row, const PixelPlace* places, int64_t count, int64_t channels,
                    float* to) noexcept;
// The same bits by (count + 1) / 2 pairs, of 3 or 4 channels: faster.
void squeeze_pixel_pairs(const uint8_t* row, const PixelPair* pairs, int64_t count,
                         int64_t channels, float* to) noexcept;

// to[i] = upper[i] + (lower[i] - upper[i]) * share.
void mix_rows(const float* upper, const float* lower, float share, int64_t count,
              float* to) noexcept;

}  // namespace snug::kernels
