// Pictures brought to one size while they are decoded: two rows are held, never a picture.
#pragma once

#include <cstdint>
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

  // Begins a picture. `height` calls of next() write the rows of the result from the top, width *
  // channels floats each; end() goes over what is left of the picture, so that damage anywhere is
  // found. Throw what PixelRows does.
  void begin(PixelRows& rows, const ImageHeader& header);
  void next(float* to);
  void end();
  // All of it.
  void scale(PixelRows& rows, const ImageHeader& header, float* to);

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
  const float* row_at(int64_t source_row);

  ScaledSize size_;
  PixelRows* rows_ = nullptr;  // The picture.
  int64_t height_ = 0;         // Its rows.
  Window window_{};
  int64_t row_ = 0;  // Of the result, that comes next.
  std::vector<kernels::PixelPlace> columns_;
  std::vector<kernels::PixelPair> pairs_;
  bool by_pairs_ = false;  // The pairs hold.
  std::vector<uint8_t> decoded_;
  uint8_t* decoded_row_ = nullptr;  // In it.
  std::vector<float> squeezed_[2];
  int64_t held_[2] = {-1, -1};  // The rows of the picture that `squeezed_` shows.
  int64_t decoded_rows_ = 0;    // Of the picture.
};

}  // namespace snug
