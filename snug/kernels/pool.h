// Two-dimensional pooling of NHWC images, vectors along the channels.
#pragma once

#include <cstdint>

namespace snug::kernels {

// One image and its windows. Output pixel (i, j) looks at rows i * stride_height - pad_top onwards;
// what lies outside the image does not count. Each window holds at least one pixel of the image.
struct Pool {
  int64_t height = 0, width = 0, channels = 0;
  int64_t kernel_height = 2, kernel_width = 2;
  int64_t stride_height = 2, stride_width = 2;
  int64_t pad_top = 0, pad_left = 0;
  int64_t out_height = 0, out_width = 0;
};

// y = the largest of each window; a NaN in a window gives NaN. `argument`, if not null, takes the
// winner's place kernel row * kernel_width + kernel column (the first of equals; the first NaN);
// the window then has at most 256 places.
void max_pool(const Pool& pool, const float* x, float* y, uint8_t* argument,
              int64_t images) noexcept;

// dx = 0 but for the winners' share of dy, with the places that max_pool wrote.
void max_pool_gradient(const Pool& pool, const uint8_t* argument, const float* dy, float* dx,
                       int64_t images) noexcept;

// The same without places: finds them again from x. dx must not overlap x.
void max_pool_gradient_from_input(const Pool& pool, const float* x, const float* dy, float* dx,
                                  int64_t images) noexcept;

// y = the mean over the pixels of the image that the window holds.
void average_pool(const Pool& pool, const float* x, float* y, int64_t images) noexcept;
void average_pool_gradient(const Pool& pool, const float* dy, float* dx, int64_t images) noexcept;

}  // namespace snug::kernels
