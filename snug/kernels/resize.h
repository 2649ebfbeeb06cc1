// Resizing of NHWC images: nearest, and bilinear with half-pixel centres and no antialias, as
// Keras.
#pragma once

#include <cstdint>

namespace snug::kernels {

struct Resize {
  int64_t height = 0, width = 0, channels = 0;
  int64_t out_height = 0, out_width = 0;
};

// Output pixel i shows input pixel floor((i + 0.5) * height / out_height); whole factors repeat.
void resize_nearest(const Resize& resize, const float* x, float* y, int64_t images) noexcept;
void resize_nearest_gradient(const Resize& resize, const float* dy, float* dx,
                             int64_t images) noexcept;

// Output pixel i is read at (i + 0.5) * height / out_height - 0.5, held within the image.
void resize_bilinear(const Resize& resize, const float* x, float* y, int64_t images) noexcept;
void resize_bilinear_gradient(const Resize& resize, const float* dy, float* dx,
                              int64_t images) noexcept;

}  // namespace snug::kernels
