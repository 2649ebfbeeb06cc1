// Windows that move over images, for convolutions and pooling. Steps are images of height 1.
#pragma once

#include <string>

#include "snug/nn/size2d.h"
#include "snug/ops/ops.h"

namespace snug {

inline constexpr std::string_view kStepAxes = "[rows, steps, channels]";
inline constexpr std::string_view kImageAxes = "[rows, height, width, channels]";
inline constexpr std::string_view kStepAdvice =
    "put a Reshape layer before it, for example with {steps, 1}";
inline constexpr std::string_view kImageAdvice =
    "put a Reshape layer before it, for example with {28, 28, 1} for gray images";

inline Size2D as_image(int64_t size) { return {1, size}; }
inline Size2D as_image(Size2D size) { return size; }

// [rows, steps, channels] -> [rows, 1, steps, channels], and back.
Value steps_to_image(Value x);
Value image_to_steps(Value x);

// Keras's padding by name for both axes of an image's shape.
struct ImageWindow {
  Size2D size, strides, dilation;
  std::string padding;
};
ops::Padding2D padding_of(const ImageWindow& window, const Shape& image);

// Throws Error that names the layer where a size is less than 1 or the padding is not one of
// "valid", "same" and, with `causal`, "causal".
void check_window(const ImageWindow& window, std::string_view layer, bool causal = false);

inline std::array<int64_t, 2> pair_of(Size2D size) { return {size.height, size.width}; }

}  // namespace snug
