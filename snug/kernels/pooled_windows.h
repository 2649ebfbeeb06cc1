// The pixels under rows of 2 x 2 max pooling windows of a 3 x 3 convolution, one channel behind the
// other: under each window are 4 x 4.
#pragma once

#include <cstdint>

#include "snug/kernels/direct_tiles.h"

namespace snug {

struct WindowBand {
  const float* planes = nullptr;
  int64_t channels = 0, filters = 0;
  int64_t rows = 0, columns = 0;  // of windows

  int64_t pixel_rows() const { return 2 * rows + 2; }
  int64_t pixel_columns() const { return 2 * columns + 2; }
  int64_t plane() const { return pixel_rows() * pixel_columns(); }
  // Of all planes, and of what may be read behind them.
  int64_t floats() const { return plane() * channels + 64; }
};

// Writes the pixels that the windows of `to` look at to its planes.
void split_channels(const DirectBand& from, const WindowBand& to, float* planes) noexcept;

}  // namespace snug
