// Rows of columns gathered from an image, times packed weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "snug/kernels/gemm.h"

namespace snug {

// For each position (i, j) of a grid over an image [batch, height, width, channels], the pixels at
// (i * row_step + tap.row, j * column_step + tap.column); zeros outside.
struct Gather {
  struct Tap {
    int64_t row, column;
  };
  int64_t batch, height, width, channels;
  int64_t rows, columns;  // of the grid
  int64_t row_step, column_step;
  std::vector<Tap> taps;

  int64_t positions() const { return batch * rows * columns; }
  // The one tap is the position itself: the image serves as it is.
  bool identity() const;
};

// Which part of the gathered matrix [positions, taps * channels] is wanted. Each position has
// `channels` channels from first_channel on for each tap; [first, last) are the columns taken.
struct GatherPart {
  int64_t position, positions;
  int64_t first_channel, channels;
  int64_t first, last;
};
void gather(const Gather& from, const GatherPart& part, const float* image, float* to) noexcept;

// y = columns * weights + bias, for each group of channels with its own weights, tile by tile of
// positions that fits L2.
class ColumnProduct {
 public:
  // The result of position (i, j) is pixel (row + i * row_step, column + j * column_step) of
  // y [batch, height, width, groups * filters].
  struct Output {
    int64_t height, width;
    int64_t row, column, row_step, column_step;
    int64_t groups, filters;
  };
  // A tap's weights are [channels, filters], or transposed [filters, channels].
  ColumnProduct(Gather gather, const Output& output, bool transpose_weights);

  // A thread's scratch, and the packed weights of all groups, which the threads share.
  size_t part_bytes() const { return part_bytes_; }
  size_t packed_bytes() const { return packed_bytes_ * output_.groups; }
  // `stride` floats are between stored rows of the tap's weights.
  void pack_tap(int64_t tap, int64_t group, const float* weights, int64_t stride,
                void* packed) const noexcept;

  // bias [groups * filters] or null; scratch is part_bytes() for each thread.
  void run(int threads, const float* image, const void* packed, const float* bias, float* y,
           void* scratch) const noexcept;

 private:
  void run_tile(int64_t position, const float* image, const void* packed, const float* bias,
                float* y, std::byte* scratch) const;
  void store(int64_t position, int64_t count, const float* results, float* y) const;
  bool contiguous() const { return output_.row_step == 1 && output_.column_step == 1; }
  Gemm gemm(int64_t positions, bool transpose_weights) const;

  Gather gather_;
  Output output_;
  int64_t channels_;  // a group
  int64_t depth_;     // taps * channels_
  int64_t tile_;      // positions
  Gemm full_, rest_;
  size_t packed_bytes_, columns_bytes_, part_bytes_;
};

}  // namespace snug
