#include "snug/data/image_scaler.h"

#include <algorithm>
#include <cmath>

namespace snug {
namespace {

// The two rows or columns that a place of the result lies between.
struct Between {
  int64_t first = 0, second = 0;
  float share = 0;
};

Between between(int64_t i, int64_t size, int64_t out_size, bool bilinear) {
  if (!bilinear) {
    const int64_t nearest = std::min(size - 1, (2 * i + 1) * size / (2 * out_size));
    return {nearest, nearest, 0};
  }
  const float scale = static_cast<float>(size) / static_cast<float>(out_size);
  const float at = (static_cast<float>(i) + 0.5f) * scale - 0.5f;
  const float below = std::floor(at);
  const auto first = static_cast<int64_t>(below);
  return {std::clamp<int64_t>(first, 0, size - 1), std::clamp<int64_t>(first + 1, 0, size - 1),
          at - below};
}

}  // namespace

ImageScaler::ImageScaler(const ScaledSize& size) : size_(size) {
  const auto elements = static_cast<size_t>(size.width * size.channels);
  columns_.resize(static_cast<size_t>(size.width));
  pairs_.resize(static_cast<size_t>(size.width + 1) / 2);
  for (std::vector<float>& row : squeezed_) row.resize(elements + kernels::kPixelPadding);
}

int64_t ImageScaler::buffer_bytes(const ScaledSize& size, int64_t widest) {
  const int64_t elements = size.width * size.channels;
  return size.width * static_cast<int64_t>(sizeof(kernels::PixelPlace)) +
         (size.width + 1) / 2 * static_cast<int64_t>(sizeof(kernels::PixelPair)) +
         elements * static_cast<int64_t>(2 * sizeof(float)) + widest * size.channels;
}

// In whole numbers as Keras's smart_resize has it.
ImageScaler::Window ImageScaler::window_of(const ImageHeader& header) const {
  Window window{0, 0, header.height, header.width};
  if (!size_.crop_to_aspect_ratio) return window;
  window.height = std::clamp<int64_t>(header.width * size_.height / size_.width, 1, header.height);
  window.width = std::clamp<int64_t>(header.height * size_.width / size_.height, 1, header.width);
  window.top = (header.height - window.height) / 2;
  window.left = (header.width - window.width) / 2;
  return window;
}

void ImageScaler::find_columns(const Window& window) {
  const int64_t channels = size_.channels;
  for (int64_t j = 0; j < size_.width; ++j) {
    const Between at = between(j, window.width, size_.width, size_.bilinear);
    columns_[static_cast<size_t>(j)] = {static_cast<int32_t>((window.left + at.first) * channels),
                                        static_cast<int32_t>((window.left + at.second) * channels),
                                        at.share};
  }
  by_pairs_ = kernels::pair_pixels(columns_.data(), size_.width, channels, pairs_.data());
}

// A row that is aligned for vectors would be written past the caches by libjpeg-turbo, and read
// back from memory.
void ImageScaler::place_row(int64_t elements) {
  constexpr size_t kVector = 64;
  decoded_.resize(static_cast<size_t>(elements + kernels::kPixelPadding) + 2 * kVector);
  const auto address = reinterpret_cast<uintptr_t>(decoded_.data());
  decoded_row_ = decoded_.data() + (kVector - address % kVector) + 1;
}

// Rows are asked for from the top, and the last two of them again and again.
const float* ImageScaler::row_at(int64_t source_row) {
  for (int i = 0; i < 2; ++i) {
    if (held_[i] == source_row) return squeezed_[i].data();
  }
  for (; decoded_rows_ <= source_row; ++decoded_rows_) rows_->read(decoded_row_);
  const int slot = held_[0] <= held_[1] ? 0 : 1;
  float* to = squeezed_[slot].data();
  if (by_pairs_) {
    kernels::squeeze_pixel_pairs(decoded_row_, pairs_.data(), size_.width, size_.channels, to);
  } else {
    kernels::squeeze_pixels(decoded_row_, columns_.data(), size_.width, size_.channels, to);
  }
  held_[slot] = source_row;
  return squeezed_[slot].data();
}

void ImageScaler::begin(PixelRows& rows, const ImageHeader& header) {
  rows_ = &rows;
  height_ = header.height;
  window_ = window_of(header);
  place_row(header.width * size_.channels);
  find_columns(window_);
  held_[0] = held_[1] = -1;
  row_ = decoded_rows_ = 0;
}

void ImageScaler::next(float* to) {
  const int64_t elements = size_.width * size_.channels;
  const Between at = between(row_++, window_.height, size_.height, size_.bilinear);
  const float* upper = row_at(window_.top + at.first);
  const float* lower = at.share == 0 ? upper : row_at(window_.top + at.second);
  if (lower == upper) {
    std::copy_n(upper, elements, to);
  } else {
    kernels::mix_rows(upper, lower, at.share, elements, to);
  }
}

void ImageScaler::end() { rows_->skip_rest(height_ - decoded_rows_); }

void ImageScaler::scale(PixelRows& rows, const ImageHeader& header, float* to) {
  begin(rows, header);
  for (int64_t i = 0; i < size_.height; ++i) next(to + i * size_.width * size_.channels);
  end();
}

}  // namespace snug
