// Convolutions that read the image where it stands, or a padded copy of a few rows of it: no
// columns are gathered. For one group and a dense kernel.
#pragma once

#include <cstddef>

#include "snug/kernels/direct_tiles.h"
#include "snug/kernels/im2col.h"

namespace snug {

// As for the classes of im2col.h: made for one shape, then only run; the number of threads does not
// show in results, nor the batch in those of an image.

// y = convolution of x, in bands of rows.
class DirectForward {
 public:
  static bool serves(const ConvolutionShape& shape);
  DirectForward(const ConvolutionShape& shape, int threads);

  size_t packed_bytes() const;
  void pack(const float* weights, void* packed) const noexcept;
  size_t scratch_bytes() const { return part_bytes_ * threads_; }
  // bias [filters] or null.
  void run(const float* x, const void* packed, const float* bias, float* y,
           void* scratch) const noexcept;

 private:
  ConvolutionShape shape_;
  int threads_;
  int64_t band_rows_;
  size_t part_bytes_;
};

class DirectWeightsGradient {
 public:
  static bool serves(const ConvolutionShape& shape) { return DirectForward::serves(shape); }
  DirectWeightsGradient(const ConvolutionShape& shape, int threads);

  size_t scratch_bytes() const { return part_bytes_ * threads_; }
  // Adds to dw if `accumulate`, otherwise overwrites it.
  void run(const float* x, const float* dy, float* dw, bool accumulate,
           void* scratch) const noexcept;

 private:
  ConvolutionShape shape_;
  int threads_;
  int64_t band_rows_;
  size_t padded_bytes_, part_bytes_;
};

}  // namespace snug
