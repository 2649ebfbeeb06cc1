// The loops of direct convolutions over a band of rows, on one thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace snug {

// Some rows of the result of a convolution and the pixels that they read: padded, so that every tap
// is inside. The taps of a row of the kernel stand side by side in the image: a run of floats.
struct DirectBand {
  const float* image = nullptr;
  int64_t row_stride = 0;         // floats from one row of the image to the next
  int64_t rows = 0, columns = 0;  // of the result
  int64_t row_step = 0,
          column_step = 0;  // floats from the first tap of one result to the next one's
  int64_t kernel_height = 0, run = 0;
  int64_t filters = 0;

  int64_t depth() const { return kernel_height * run; }
};

// The floats of weights [depth, filters] packed for direct_forward.
int64_t direct_packed_floats(int64_t depth, int64_t filters);
void direct_pack(const float* weights, int64_t depth, int64_t filters, float* packed) noexcept;
// y [rows, columns, filters] = band * weights + bias; bias [filters] or null.
void direct_forward(const DirectBand& band, const float* packed, const float* bias,
                    float* y) noexcept;

// Whether the next one is ahead of a separate pooling on this machine: it needs many registers.
bool direct_pools();
// The largest of each 2 x 2 of the result, side by side, and its place; rows and columns are even.
// y and places are [rows / 2, columns / 2, filters]. The first NaN wins, or the first of equals.
void direct_forward_pooled(const DirectBand& band, const float* packed, const float* bias, float* y,
                           uint8_t* places) noexcept;

// The rows of dw [depth, filters] are cut into so many tiles, which can be computed apart.
int64_t direct_weights_tiles(const DirectBand& band);
// Scratch for dy's columns, in floats.
int64_t direct_panel_floats(const DirectBand& band);
// Tiles [first, last) of dw = the product of the band and dy [rows, columns, filters], added to dw
// or overwriting it.
void direct_weights(const DirectBand& band, const float* dy, int64_t first, int64_t last, bool add,
                    float* dw, float* panel) noexcept;

}  // namespace snug
