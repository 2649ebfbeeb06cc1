#include "snug/kernels/direct_convolution.h"

#include <algorithm>

#include "snug/base/threads.h"

namespace snug {
namespace {

constexpr int64_t kBandFloats = 24 * 1024;  // of a padded band: a part of L2
constexpr int64_t kLeastBandRows = 4;       // as its border rows are copied twice
constexpr int64_t kPanelPositions = 512;    // of dy, side by side in L1
constexpr double kWorthwhileFlops = 1e6;    // a thread

size_t line_bytes(int64_t floats) { return (floats + 15) / 16 * 64; }

bool is_padded(const ConvolutionShape& s) { return s.top + s.left + s.bottom + s.right > 0; }

int64_t padded_width(const ConvolutionShape& s) { return s.width + s.left + s.right; }

// The rows of x that so many rows of y read.
int64_t rows_read(const ConvolutionShape& s, int64_t rows) {
  return (rows - 1) * s.stride_height + s.kernel_height;
}

size_t padded_bytes(const ConvolutionShape& s, int64_t rows) {
  return is_padded(s) ? line_bytes(rows_read(s, rows) * padded_width(s) * s.channels) : 0;
}

int worthwhile_threads(const ConvolutionShape& s, int threads) {
  const double flops =
      2.0 * s.batch * s.out_height() * s.out_width() * s.taps() * s.channels * s.filters;
  return std::clamp(static_cast<int>(std::min(flops / kWorthwhileFlops, 1e6)), 1, threads);
}

int64_t bands_of(const ConvolutionShape& s, int64_t band_rows) {
  return (s.out_height() + band_rows - 1) / band_rows;
}

DirectBand empty_band(const ConvolutionShape& s, int64_t rows) {
  const int64_t row_stride = padded_width(s) * s.channels;
  return {.row_stride = row_stride,
          .rows = rows,
          .columns = s.out_width(),
          .row_step = s.stride_height * row_stride,
          .column_step = s.stride_width * s.channels,
          .kernel_height = s.kernel_height,
          .run = s.kernel_width * s.channels,
          .filters = s.filters};
}

// Copies what the band reads, with zeros around the image.
void copy_padded(const ConvolutionShape& s, const float* image, int64_t first, int64_t rows,
                 float* to) {
  const int64_t left = s.left * s.channels, right = s.right * s.channels;
  const int64_t width = s.width * s.channels;
  for (int64_t row = first; row < first + rows; ++row, to += left + width + right) {
    if (row < 0 || row >= s.height) {
      std::fill_n(to, left + width + right, 0.0f);
      continue;
    }
    std::fill_n(to, left, 0.0f);
    std::copy_n(image + row * width, width, to + left);
    std::fill_n(to + left + width, right, 0.0f);
  }
}

// Rows [begin, begin + rows) of y of one image of x; `padded` is for a copy.
DirectBand make_band(const ConvolutionShape& s, const float* image, int64_t begin, int64_t rows,
                     float* padded) {
  DirectBand band = empty_band(s, rows);
  const int64_t first = begin * s.stride_height - s.top;
  band.image = image + first * band.row_stride;
  if (is_padded(s)) {
    copy_padded(s, image, first, rows_read(s, rows), padded);
    band.image = padded;
  }
  return band;
}

int64_t forward_band_rows(const ConvolutionShape& s) {
  const int64_t row = padded_width(s) * s.channels * s.stride_height;
  return std::clamp(kBandFloats / row - s.kernel_height + 1,
                    std::min(kLeastBandRows, s.out_height()), s.out_height());
}

}  // namespace

bool DirectForward::serves(const ConvolutionShape& s) {
  return s.groups == 1 && s.dilation_height == 1 && s.dilation_width == 1 && s.top >= 0 &&
         s.left >= 0 && s.bottom >= 0 && s.right >= 0;
}

DirectForward::DirectForward(const ConvolutionShape& shape, int threads)
    : shape_(shape),
      threads_(worthwhile_threads(shape, threads)),
      band_rows_(forward_band_rows(shape)),
      part_bytes_(padded_bytes(shape, band_rows_)) {}

size_t DirectForward::packed_bytes() const {
  return line_bytes(direct_packed_floats(shape_.taps() * shape_.channels, shape_.filters));
}

void DirectForward::pack(const float* weights, void* packed) const noexcept {
  direct_pack(weights, shape_.taps() * shape_.channels, shape_.filters,
              static_cast<float*>(packed));
}

void DirectForward::run(const float* x, const void* packed, const float* bias, float* y,
                        void* scratch) const noexcept {
  const ConvolutionShape& s = shape_;
  const int64_t in_image = bands_of(s, band_rows_), bands = s.batch * in_image;
  const int64_t y_row = s.out_width() * s.filters;
  parallel_parts(threads_, [&](int part) {
    auto* padded = reinterpret_cast<float*>(static_cast<std::byte*>(scratch) + part_bytes_ * part);
    for (int64_t b = bands * part / threads_; b < bands * (part + 1) / threads_; ++b) {
      const int64_t image = b / in_image, begin = b % in_image * band_rows_;
      const int64_t rows = std::min(band_rows_, s.out_height() - begin);
      const DirectBand band =
          make_band(s, x + image * s.height * s.width * s.channels, begin, rows, padded);
      direct_forward(band, static_cast<const float*>(packed), bias,
                     y + (image * s.out_height() + begin) * y_row);
    }
  });
}

DirectWeightsGradient::DirectWeightsGradient(const ConvolutionShape& shape, int threads)
    : shape_(shape),
      threads_(worthwhile_threads(shape, threads)),
      band_rows_(std::clamp(kPanelPositions / shape.out_width(), int64_t{1}, shape.out_height())),
      padded_bytes_(padded_bytes(shape, band_rows_)),
      part_bytes_(padded_bytes_ + line_bytes(direct_panel_floats(empty_band(shape, band_rows_)))) {}

// Each thread has tiles of its own and goes through all bands.
void DirectWeightsGradient::run(const float* x, const float* dy, float* dw, bool accumulate,
                                void* scratch) const noexcept {
  const ConvolutionShape& s = shape_;
  const int64_t tiles = direct_weights_tiles(empty_band(s, band_rows_));
  const int64_t y_row = s.out_width() * s.filters;
  parallel_parts(threads_, [&](int part) {
    std::byte* own = static_cast<std::byte*>(scratch) + part_bytes_ * part;
    bool add = accumulate;
    for (int64_t image = 0; image < s.batch; ++image) {
      for (int64_t begin = 0; begin < s.out_height(); begin += band_rows_) {
        const int64_t rows = std::min(band_rows_, s.out_height() - begin);
        const DirectBand band = make_band(s, x + image * s.height * s.width * s.channels, begin,
                                          rows, reinterpret_cast<float*>(own));
        direct_weights(band, dy + (image * s.out_height() + begin) * y_row, tiles * part / threads_,
                       tiles * (part + 1) / threads_, add, dw,
                       reinterpret_cast<float*>(own + padded_bytes_));
        add = true;
      }
    }
  });
}

}  // namespace snug
