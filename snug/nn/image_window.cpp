#include "snug/nn/image_window.h"

#include <algorithm>

#include "snug/base/error.h"

namespace snug {

Value steps_to_image(Value x) {
  const Shape& shape = x.shape();
  return ops::reshape(x, {shape.extent(0), 1, shape.extent(1), shape.extent(2)});
}

Value image_to_steps(Value x) {
  const Shape& shape = x.shape();
  return ops::reshape(x, {shape.extent(0), shape.extent(2), shape.extent(3)});
}

ops::Padding2D padding_of(const ImageWindow& window, const Shape& image) {
  const auto along = [&](int axis, int64_t size, int64_t stride, int64_t dilation) {
    return ops::keras_padding(window.padding, image[axis], size, stride, dilation);
  };
  const auto [top, bottom] =
      along(1, window.size.height, window.strides.height, window.dilation.height);
  const auto [left, right] =
      along(2, window.size.width, window.strides.width, window.dilation.width);
  return {.top = top, .left = left, .bottom = bottom, .right = right};
}

void check_window(const ImageWindow& window, std::string_view layer, bool causal) {
  const auto check = [&](std::string_view what, Size2D size) {
    if (std::min(size.height, size.width) >= 1) return;
    throw Error("{}: the {} is {} x {}; each must be 1 or more", layer, what, size.height,
                size.width);
  };
  check("window (kernel_size; pool_size of pooling)", window.size);
  check("stride", window.strides);
  check("dilation", window.dilation);
  const std::string& padding = window.padding;
  if (padding == "valid" || padding == "same" || (causal && padding == "causal")) return;
  if (padding == "causal") {
    throw Error("{}: \"causal\" padding is for Conv1D alone; use \"same\" or \"valid\"", layer);
  }
  throw Error("{}: there is no padding \"{}\"; use \"valid\"{} or \"same\"", layer, padding,
              causal ? ", \"causal\"" : "");
}

}  // namespace snug
