// Pictures brought to one size while they are decoded: two rows are held, never a picture.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "snug/data/pixel_rows.h"
#include "snug/kernels/pixel_row.h"

namespace snug {

struct ScaledSize {
  int64_t height = 0, width = 0, channels = 3;
  bool bilinear = true;               // Else the nearest pixel.
  bool crop_to_aspect_ratio = false;  // The largest window in the middle that has the shape.
};

// As Keras and tf.image.resize: half-pixel centres, no antialias (so does kernels/resize.h).
class ImageScaler {
 public:
  explicit ImageScaler(const ScaledSize& size);

  // Calls `row` with each row of the result, from the top: width * channels floats that stand
  // until the next. All of the picture is decoded, so that damage anywhere is found.
  using Row = std::function<void(int64_t row, const float* values)>;
  void scale(PixelRows& rows, const ImageHeader& header, const Row& row);

  // What it holds for pictures of this width.
  static int64_t buffer_bytes(const ScaledSize& size, int64_t widest);

 private:
  // The window of the picture that is shown.
  struct Window {
    int64_t top, left, height, width;
  };
  Window window_of(const ImageHeader& header) const;
  void find_columns(const Window& window);
  void place_row(int64_t elements);
  const float* row_at(PixelRows& rows, int64_t source_row);

  ScaledSize size_;
  std::vector<kernels::PixelPlace> columns_;
  std::vector<uint8_t> decoded_;
  uint8_t* decoded_row_ = nullptr;  // In it.
  std::vector<float> squeezed_[2], mixed_;
  int64_t held_[2] = {-1, -1};  // The rows of the picture that `squeezed_` shows.
  int64_t next_ = 0;            // The row that is decoded next.
};

}  // namespace snug
