// A convolution whose result only a max pooling reads, band by band of rows: the result stands in
// scratch for the length of a band, and what the windows leave out is not computed.
#pragma once

#include "snug/kernels/direct_tiles.h"
#include "snug/kernels/im2col.h"
#include "snug/kernels/pool.h"

namespace snug {

// The pooling is of the convolution's result.
struct PooledShape {
  ConvolutionShape convolution;
  kernels::Pool pool;

  // A dense kernel, and windows that neither overlap nor reach beyond the result.
  bool is_served() const;
  // Whether a machine like this one works window by window (pooled_winograd.h, pooled_gather.h):
  // with about half and a quarter of the products.
  bool is_by_windows() const;
};

// As for the classes of im2col.h: made for one shape that is served, then only run; the number of
// threads does not show in results, nor the batch in those of an image.

class PooledForward {
 public:
  PooledForward(const PooledShape& shape, int threads);

  size_t packed_bytes() const;
  void pack(const float* weights, void* packed) const noexcept;
  size_t scratch_bytes() const { return part_bytes_ * static_cast<size_t>(threads_); }
  // bias [filters] or null; y and places [batch, pool.out_height, pool.out_width, filters], as
  // kernels::max_pool gives them.
  void run(const float* x, const void* packed, const float* bias, float* y, uint8_t* places,
           void* scratch) const noexcept;

 private:
  PooledShape shape_;
  bool by_windows_;
  bool in_tiles_;  // a tile's results are pooled in registers, and the band has none
  int threads_;
  int64_t band_rows_;  // of the pooled image
  size_t padded_bytes_, planes_bytes_, part_bytes_;
};

// dw and the gradient of the bias, from the gradient of the pooled image.
class PooledWeightsGradient {
 public:
  PooledWeightsGradient(const PooledShape& shape, int threads);

  size_t scratch_bytes() const { return part_bytes_ * static_cast<size_t>(threads_); }
  // Adds to dw and dbias if `accumulate`, otherwise overwrites them. dbias may be null.
  void run(const float* x, const uint8_t* places, const float* dy, float* dw, float* dbias,
           bool accumulate, void* scratch) const noexcept;

 private:
  struct Pooled {
    const uint8_t* places;
    const float* dy;
  };
  template <class F>
  void for_bands(const float* x, void* own, const F& visit) const;
  void run_band(const DirectBand& whole, int64_t windows, Pooled pooled, float* dw, bool add,
                int part, void* own) const noexcept;
  void run_picked(const DirectBand& pixels, int64_t windows, Pooled pooled, float* dw, float* dbias,
                  bool add, int part, void* own) const noexcept;

  PooledShape shape_;
  bool picks_;
  int threads_;
  int64_t band_rows_, band_columns_;  // of the pooled image
  size_t padded_bytes_, panel_bytes_, part_bytes_;
};

}  // namespace snug
