#include "snug/kernels/direct_convolution.h"

#include <algorithm>

#include "snug/base/threads.h"
#include "snug/kernels/direct_band.h"

namespace snug {
namespace {

constexpr int64_t kBandFloats = 24 * 1024;  // of a padded band: a part of L2
constexpr int64_t kLeastBandRows = 4;       // as its border rows are copied twice
constexpr int64_t kPanelPositions = 512;    // of dy, side by side in L1

int64_t bands_of(const ConvolutionShape& s, int64_t band_rows) {
  return (s.out_height() + band_rows - 1) / band_rows;
}

int64_t forward_band_rows(const ConvolutionShape& s) {
  const int64_t row = (s.width + s.left + s.right) * s.channels * s.stride_height;
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
      threads_(band_threads(shape, threads)),
      band_rows_(forward_band_rows(shape)),
      part_bytes_(thread_stride(padded_band_bytes(shape, band_rows_), threads_)) {}

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
      threads_(band_threads(shape, threads)),
      band_rows_(std::clamp(kPanelPositions / shape.out_width(), int64_t{1}, shape.out_height())),
      padded_bytes_(padded_band_bytes(shape, band_rows_)),
      part_bytes_(thread_stride(
          padded_bytes_ + line_bytes(direct_panel_floats(empty_band(shape, band_rows_))),
          threads_)) {}

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
