// Convolutions of 3 x 3 taps with 16 products for each 2 x 2 results instead of 36 (Winograd's
// F(2 x 2, 3 x 3)). What is added up on the way is halves, sums and differences of four numbers:
// the results are as near to the true ones as those of a sum over taps.
#pragma once

#include <cstddef>

#include "snug/kernels/im2col.h"
#include "snug/kernels/winograd_tiles.h"

namespace snug {

// As for the classes of im2col.h: made for one shape, then only run; the number of threads does not
// show in results, nor the batch in those of an image.

// Whether it is of 3 x 3 taps, dense, with stride 1, in one group, padded by two at most, with
// channels and filters in sixteens.
bool winograd_serves(const ConvolutionShape& shape);

// The multiplications and additions of the results and of the gradient of the weights, and what
// turning pixels into points and back costs beside them.
double winograd_flops(const ConvolutionShape& shape);

class WinogradForward {
 public:
  WinogradForward(const ConvolutionShape& shape, int threads);

  size_t packed_bytes() const;
  void pack(const float* weights, void* packed) const noexcept;
  size_t scratch_bytes() const { return part_bytes_ * threads_; }
  // bias [filters] or null.
  void run(const float* x, const void* packed, const float* bias, float* y,
           void* scratch) const noexcept;

 private:
  ConvolutionShape shape_;
  int threads_;
  int64_t block_tiles_;
  size_t part_bytes_;
};

// dx is overwritten: a convolution of dy with the weights the other way round.
class WinogradInputGradient {
 public:
  WinogradInputGradient(const ConvolutionShape& shape, int threads);

  // As winograd_flops: tiles are those of the image.
  static double flops(const ConvolutionShape& shape);

  size_t packed_bytes() const { return turned_.packed_bytes(); }
  void pack(const float* weights, void* packed) const noexcept;
  size_t scratch_bytes() const { return turned_.scratch_bytes(); }
  void run(const float* dy, const void* packed, float* dx, void* scratch) const noexcept {
    turned_.run(dy, packed, nullptr, dx, scratch);
  }

 private:
  ConvolutionShape shape_;
  WinogradForward turned_;
};

class WinogradWeightsGradient {
 public:
  WinogradWeightsGradient(const ConvolutionShape& shape, int threads);

  size_t scratch_bytes() const { return sum_bytes_ + part_bytes_ * parts_; }
  // Adds to dw if `accumulate`, otherwise overwrites it.
  void run(const float* x, const float* dy, float* dw, bool accumulate,
           void* scratch) const noexcept;

 private:
  WinogradPart part(int number) const;

  ConvolutionShape shape_;
  int channel_parts_, row_parts_, parts_;  // Each thread has channels or points of its own.
  int64_t block_tiles_;
  size_t sum_bytes_, part_bytes_;
};

}  // namespace snug
