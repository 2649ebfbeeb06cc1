#include "snug/kernels/pooled_convolution.h"

#include <algorithm>

#include "snug/base/threads.h"
#include "snug/kernels/direct_band.h"
#include "snug/kernels/pooled_gather.h"
#include "snug/kernels/pooled_winograd.h"
#include "snug/kernels/reduce.h"

namespace snug {
namespace {

using kernels::Pool;

constexpr int64_t kResultFloats = 24 * 1024;  // of a band of the convolution's result: in L2
// Of a band of its gradient, side by side in L1. Deep kernels have many tiles, which add up in
// memory after each band: they are better off with longer ones.
constexpr int64_t kPanelPositions = 512, kShallowPositions = 192;
constexpr int64_t kShallow = 64;
// Of a band of 4 x 4 pixels a window: sums that stand in registers are added up after so many.
constexpr int64_t kBandWindows = 1024;

// The rows and columns of the convolution's result that so many windows look at.
int64_t rows_under(const Pool& p, int64_t windows) {
  return (windows - 1) * p.stride_height + p.kernel_height;
}
int64_t columns_under(const Pool& p, int64_t windows) {
  return (windows - 1) * p.stride_width + p.kernel_width;
}
int64_t columns_under(const Pool& p) { return columns_under(p, p.out_width); }

// The pooling of one band.
Pool pool_of_band(const Pool& p, int64_t windows) {
  Pool band = p;
  band.height = rows_under(p, windows);
  band.width = columns_under(p);
  band.out_height = windows;
  return band;
}

int64_t result_floats(const PooledShape& s, int64_t windows) {
  return rows_under(s.pool, windows) * columns_under(s.pool) * s.convolution.filters;
}

// Of the windows' rows [begin, begin + windows), without the columns that no window looks at.
DirectBand band_under(const PooledShape& s, const float* image, int64_t begin, int64_t windows,
                      float* padded) {
  DirectBand band = make_band(s.convolution, image, begin * s.pool.stride_height,
                              rows_under(s.pool, windows), padded);
  band.columns = columns_under(s.pool);
  return band;
}

int64_t window_rows(const PooledShape& s, int64_t floats) {
  const int64_t a_row = s.pool.stride_height * columns_under(s.pool);
  return std::clamp<int64_t>(floats / std::max<int64_t>(a_row, 1), 1, s.pool.out_height);
}

bool is_two_by_two(const Pool& p) {
  return p.kernel_height == 2 && p.kernel_width == 2 && p.stride_height == 2 && p.stride_width == 2;
}

// Of so many rows of windows.
WindowBand window_band(const PooledShape& s, int64_t windows) {
  return {.channels = s.convolution.channels,
          .filters = s.convolution.filters,
          .rows = windows,
          .columns = s.pool.out_width};
}

int64_t rows_by_windows(const PooledShape& s) {
  return std::clamp<int64_t>(kBandWindows / s.pool.out_width, 1, s.pool.out_height);
}

int64_t image_size(const ConvolutionShape& s) { return s.height * s.width * s.channels; }

int64_t pooled_row(const Pool& p) { return p.out_width * p.channels; }

float* floats_at(void* scratch, size_t bytes) {
  return reinterpret_cast<float*>(static_cast<std::byte*>(scratch) + bytes);
}

}  // namespace

bool PooledShape::is_served() const {
  const ConvolutionShape& c = convolution;
  return c.groups == 1 && c.dilation_height == 1 && c.dilation_width == 1 &&
         std::min({c.top, c.left, c.bottom, c.right}) >= 0 && pool.pad_top == 0 &&
         pool.pad_left == 0 && pool.kernel_height <= pool.stride_height &&
         pool.kernel_width <= pool.stride_width &&
         rows_under(pool, pool.out_height) <= c.out_height() &&
         columns_under(pool) <= c.out_width() && pool.kernel_height * pool.kernel_width <= 256;
}

bool PooledShape::is_by_windows() const {
  const ConvolutionShape& c = convolution;
  return picks_pixels() && winograd_pools() && is_two_by_two(pool) && c.kernel_height == 3 &&
         c.kernel_width == 3 && c.stride_height == 1 && c.stride_width == 1 &&
         c.filters % kPickedFilters == 0;
}

PooledForward::PooledForward(const PooledShape& shape, int threads)
    : shape_(shape),
      by_windows_(shape.is_by_windows()),
      in_tiles_(is_two_by_two(shape.pool) && direct_pools()),
      threads_(band_threads(shape.convolution, threads)),
      band_rows_(by_windows_ ? rows_by_windows(shape)
                             : window_rows(shape, kResultFloats / shape.convolution.filters)),
      padded_bytes_(padded_band_bytes(shape.convolution, rows_under(shape.pool, band_rows_))),
      planes_bytes_(by_windows_ ? line_bytes(window_band(shape, band_rows_).floats()) : 0),
      part_bytes_(padded_bytes_ + planes_bytes_) {
  if (by_windows_)
    part_bytes_ += line_bytes(window_points_floats(shape.convolution.channels));
  else if (!in_tiles_)
    part_bytes_ += line_bytes(result_floats(shape, band_rows_));
  part_bytes_ = thread_stride(part_bytes_, threads_);
}

size_t PooledForward::packed_bytes() const {
  const ConvolutionShape& c = shape_.convolution;
  if (by_windows_) return line_bytes(pooled_points_floats(c.channels, c.filters));
  return line_bytes(direct_packed_floats(c.taps() * c.channels, c.filters));
}

void PooledForward::pack(const float* weights, void* packed) const noexcept {
  const ConvolutionShape& c = shape_.convolution;
  if (by_windows_)
    return pack_pooled_points(weights, c.channels, c.filters, static_cast<float*>(packed));
  direct_pack(weights, c.taps() * c.channels, c.filters, static_cast<float*>(packed));
}

void PooledForward::run(const float* x, const void* packed, const float* bias, float* y,
                        uint8_t* places, void* scratch) const noexcept {
  const Pool& pool = shape_.pool;
  const int64_t in_image = (pool.out_height + band_rows_ - 1) / band_rows_;
  const int64_t bands = shape_.convolution.batch * in_image;
  parallel_parts(threads_, [&](int part) {
    const size_t own = part_bytes_ * static_cast<size_t>(part);
    float *padded = floats_at(scratch, own), *result = floats_at(scratch, own + padded_bytes_);
    for (int64_t b = bands * part / threads_; b < bands * (part + 1) / threads_; ++b) {
      const int64_t image = b / in_image, begin = b % in_image * band_rows_;
      const int64_t windows = std::min(band_rows_, pool.out_height - begin);
      const DirectBand band =
          band_under(shape_, x + image * image_size(shape_.convolution), begin, windows, padded);
      const auto* weights = static_cast<const float*>(packed);
      const int64_t at = (image * pool.out_height + begin) * pooled_row(pool);
      if (by_windows_) {
        WindowBand squares = window_band(shape_, windows);
        split_channels(band, squares, result);
        squares.planes = result;
        winograd_pooled(squares, weights, bias, floats_at(result, planes_bytes_), y + at,
                        places + at);
        continue;
      }
      if (in_tiles_) {
        direct_forward_pooled(band, weights, bias, y + at, places + at);
        continue;
      }
      direct_forward(band, weights, bias, result);
      kernels::max_pool(pool_of_band(pool, windows), result, y + at, places + at, 1);
    }
  });
}

PooledWeightsGradient::PooledWeightsGradient(const PooledShape& shape, int threads)
    : shape_(shape),
      picks_(shape.is_by_windows()),
      threads_(band_threads(shape.convolution, threads)) {
  const ConvolutionShape& c = shape.convolution;
  const Pool& pool = shape.pool;
  if (picks_) {
    band_rows_ = rows_by_windows(shape);
    padded_bytes_ = padded_band_bytes(c, rows_under(pool, band_rows_));
    panel_bytes_ = line_bytes(window_band(shape, band_rows_).floats());
    part_bytes_ = thread_stride(padded_bytes_ + panel_bytes_, threads_);
    return;
  }
  const int64_t positions = c.taps() * c.channels <= kShallow ? kShallowPositions : kPanelPositions;
  band_rows_ = window_rows(shape, positions);
  // The windows of one row stand side by side, those of several do not.
  band_columns_ = pool.out_width;
  if (band_rows_ == 1)
    band_columns_ = std::clamp<int64_t>(positions / (pool.stride_height * pool.stride_width), 1,
                                        pool.out_width);
  padded_bytes_ = padded_band_bytes(c, rows_under(pool, band_rows_));
  DirectBand band = empty_band(c, rows_under(pool, band_rows_));
  band.columns = columns_under(pool, band_columns_);
  panel_bytes_ = line_bytes(direct_panel_floats(band));
  part_bytes_ = thread_stride(
      padded_bytes_ + panel_bytes_ + line_bytes(band.rows * band.columns * c.filters), threads_);
}

// Visits each band of each image with its number of rows of windows and where these begin.
template <class F>
void PooledWeightsGradient::for_bands(const float* x, void* own, const F& visit) const {
  const Pool& pool = shape_.pool;
  for (int64_t image = 0; image < shape_.convolution.batch; ++image) {
    const float* pixels = x + image * image_size(shape_.convolution);
    for (int64_t begin = 0; begin < pool.out_height; begin += band_rows_) {
      const int64_t windows = std::min(band_rows_, pool.out_height - begin);
      visit(band_under(shape_, pixels, begin, windows, static_cast<float*>(own)), windows,
            (image * pool.out_height + begin) * pooled_row(pool));
    }
  }
}

// Each element of dy goes to one place, so that the bias's gradient is the sum of dy itself.
void PooledWeightsGradient::run(const float* x, const uint8_t* places, const float* dy, float* dw,
                                float* dbias, bool accumulate, void* scratch) const noexcept {
  const ConvolutionShape& c = shape_.convolution;
  const Pool& pool = shape_.pool;
  if (dbias != nullptr && !picks_) {
    kernels::column_sums(dy, dbias, c.batch * pool.out_height * pool.out_width, c.filters,
                         accumulate ? kernels::Output::add : kernels::Output::write);
  }
  parallel_parts(threads_, [&](int part) {
    void* own = static_cast<std::byte*>(scratch) + part_bytes_ * static_cast<size_t>(part);
    for_bands(x, own, [&](const DirectBand& band, int64_t windows, int64_t at) {
      const bool add = accumulate || at > 0;
      const Pooled pooled{places + at, dy + at};
      if (picks_)
        run_picked(band, windows, pooled, dw, dbias, add, part, own);
      else
        run_band(band, windows, pooled, dw, add, part, own);
    });
  });
}

void PooledWeightsGradient::run_picked(const DirectBand& pixels, int64_t windows, Pooled pooled,
                                       float* dw, float* dbias, bool add, int part,
                                       void* own) const noexcept {
  WindowBand band = window_band(shape_, windows);
  const int64_t first = picked_tasks(band) * part / threads_,
                last = picked_tasks(band) * (part + 1) / threads_;
  if (first == last) return;
  float* planes = floats_at(own, padded_bytes_);
  split_channels(pixels, band, planes);
  band.planes = planes;
  picked_weights(band, pooled.places, pooled.dy, first, last, add, dw, dbias);
}

// Each thread has tiles of its own and goes through all bands.
void PooledWeightsGradient::run_band(const DirectBand& whole, int64_t windows, Pooled pooled,
                                     float* dw, bool add, int part, void* own) const noexcept {
  float *panel = floats_at(own, padded_bytes_),
        *spread = floats_at(own, padded_bytes_ + panel_bytes_);
  const int64_t tiles = direct_weights_tiles(whole);
  Pool pool = pool_of_band(shape_.pool, windows);
  for (int64_t first = 0; first < shape_.pool.out_width; first += band_columns_) {
    pool.out_width = std::min(band_columns_, shape_.pool.out_width - first);
    pool.width = columns_under(pool);
    const int64_t at = first * pool.channels;
    kernels::max_pool_gradient(pool, pooled.places + at, pooled.dy + at, spread, 1);
    DirectBand band = whole;
    band.image += first * pool.stride_width * band.column_step;
    band.columns = pool.width;
    direct_weights(band, spread, tiles * part / threads_, tiles * (part + 1) / threads_, add, dw,
                   panel);
    add = true;
  }
}

}  // namespace snug
