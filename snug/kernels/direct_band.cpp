#include "snug/kernels/direct_band.h"

#include <algorithm>

namespace snug {
namespace {

constexpr double kWorthwhileFlops = 1e6;  // a thread

bool is_padded(const ConvolutionShape& s) { return s.top + s.left + s.bottom + s.right > 0; }

int64_t padded_width(const ConvolutionShape& s) { return s.width + s.left + s.right; }

// The rows of x that so many rows of y read.
int64_t rows_read(const ConvolutionShape& s, int64_t rows) {
  return (rows - 1) * s.stride_height + s.kernel_height;
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

}  // namespace

size_t line_bytes(int64_t floats) { return static_cast<size_t>((floats + 15) / 16 * 64); }

int band_threads(const ConvolutionShape& s, int threads) {
  const double flops =
      2.0 * s.batch * s.out_height() * s.out_width() * s.taps() * s.channels * s.filters;
  return std::clamp(static_cast<int>(std::min(flops / kWorthwhileFlops, 1e6)), 1, threads);
}

size_t padded_band_bytes(const ConvolutionShape& s, int64_t rows) {
  return is_padded(s) ? line_bytes(rows_read(s, rows) * padded_width(s) * s.channels) : 0;
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

}  // namespace snug
