// Convolutions as matrix products of gathered columns, a bounded tile at a time: the path for CPUs
// on which oneDNN allocates inside a call. Depthwise ones are direct loops over channels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "snug/kernels/im2col_product.h"

namespace snug {

// x [batch, height, width, channels], weights [kernel_height, kernel_width, channels / groups,
// filters], y [batch, out_height, out_width, filters], all dense. Depthwise: groups = channels.
struct ConvolutionShape {
  int64_t batch = 1;
  int64_t height = 1, width = 1, channels = 1;
  int64_t filters = 1;
  int64_t kernel_height = 1, kernel_width = 1;
  int64_t stride_height = 1, stride_width = 1;
  int64_t dilation_height = 1, dilation_width = 1;   // 1 is a dense kernel
  int64_t top = 0, left = 0, bottom = 0, right = 0;  // zeros around x
  int64_t groups = 1;

  int64_t out_height() const {
    return (height + top + bottom - (kernel_height - 1) * dilation_height - 1) / stride_height + 1;
  }
  int64_t out_width() const {
    return (width + left + right - (kernel_width - 1) * dilation_width - 1) / stride_width + 1;
  }
  int64_t taps() const { return kernel_height * kernel_width; }
};

// Each of the three is made for one shape and at most `threads` threads, then only runs. Results do
// not depend on the number of threads, those of an image not on the batch (but for the gradient of
// the weights). Scratch is for all threads, its base aligned to 64 bytes. A tap outside the image
// counts as a zero, so that against an infinity it gives NaN; depthwise loops leave it out.

class ConvolutionForward {
 public:
  ConvolutionForward(const ConvolutionShape& shape, int threads);
  size_t scratch_bytes() const { return scratch_bytes_; }
  // bias [filters] or null.
  void run(const float* x, const float* weights, const float* bias, float* y,
           void* scratch) const noexcept;

 private:
  ConvolutionShape shape_;
  int threads_;
  std::vector<ColumnProduct> product_;  // one, or none if depthwise
  size_t scratch_bytes_ = 0;
};

// dx is overwritten.
class ConvolutionInputGradient {
 public:
  ConvolutionInputGradient(const ConvolutionShape& shape, int threads);
  size_t scratch_bytes() const { return scratch_bytes_; }
  void run(const float* dy, const float* weights, float* dx, void* scratch) const noexcept;

 private:
  // The pixels of x that are `row` and `column` beyond multiples of the strides see the same taps:
  // each phase is a dense product of its own.
  struct Phase {
    std::vector<int64_t> taps;
    ColumnProduct product;
  };
  Phase phase(int64_t row, int64_t column) const;

  ConvolutionShape shape_;
  int threads_;
  std::vector<Phase> phases_;
  size_t scratch_bytes_ = 0;
};

class ConvolutionWeightsGradient {
 public:
  ConvolutionWeightsGradient(const ConvolutionShape& shape, int threads);
  size_t scratch_bytes() const { return part_bytes_ * threads_; }
  // Adds to dw if `accumulate`, otherwise overwrites it.
  void run(const float* x, const float* dy, float* dw, bool accumulate,
           void* scratch) const noexcept;

 private:
  // Rows [first, last) of one group's dw, as [taps * channels / groups, filters / groups].
  struct Piece {
    int64_t group, first, last;
    Gemm full, rest;
  };
  void add_pieces(int64_t group);
  void run_piece(const Piece& piece, const float* x, const float* dy, float* dw, bool accumulate,
                 std::byte* scratch) const;

  ConvolutionShape shape_;
  int threads_;
  Gather gather_;
  std::vector<Piece> pieces_;
  size_t part_bytes_ = 0;
};

}  // namespace snug
