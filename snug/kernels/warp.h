// Images seen through an affine map, as TensorFlow's ImageProjectiveTransformV3 shows them.
#pragma once

#include <array>
#include <cstdint>

namespace snug::kernels {

// What is seen beyond the border.
enum class WarpFill {
  reflect,   // d c b a | a b c d | d c b a
  wrap,      // a b c d | a b c d | a b c d
  constant,  // k k k k | a b c d | k k k k
  nearest,   // a a a a | a b c d | d d d d
};

struct Warp {
  int64_t height = 0, width = 0, channels = 0;
  int64_t out_height = 0, out_width = 0;
  WarpFill fill = WarpFill::reflect;
  float fill_value = 0;
  bool bilinear = true;  // Else the nearest pixel.
};

// Output pixel (x, y) shows the input at (a[0] x + a[1] y + a[2], a[3] x + a[4] y + a[5]).
using Affine = std::array<float, 6>;

// One image [height, width, channels] to [out_height, out_width, channels].
void warp_image(const Warp& warp, const Affine& map, const float* x, float* y) noexcept;
void warp_image_gradient(const Warp& warp, const Affine& map, const float* dy, float* dx) noexcept;

}  // namespace snug::kernels
