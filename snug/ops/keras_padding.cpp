// Keras's padding by name, as numbers of pixels.

#include <algorithm>
#include <limits>

#include "snug/base/error.h"
#include "snug/ops/ops.h"

namespace snug::ops {
namespace {

void check_axis(std::string_view where, int64_t size, int64_t kernel, int64_t stride,
                int64_t dilation) {
  // Products of two of them must be counted, too.
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  const bool counted = std::max({size, kernel, stride, dilation}) <= kMost;
  if (counted && std::min({size, kernel, stride, dilation}) >= 1) return;
  throw ShapeError("{}: size {}, kernel {}, stride {} and dilation {} must each be {}", where, size,
                   kernel, stride, dilation,
                   counted ? "1 or more" : fmt::format("at most {}", kMost));
}

int64_t reach(int64_t kernel, int64_t dilation) { return (kernel - 1) * dilation + 1; }

}  // namespace

std::array<int64_t, 2> keras_padding(std::string_view name, int64_t size, int64_t kernel,
                                     int64_t stride, int64_t dilation) {
  check_axis("padding", size, kernel, stride, dilation);
  if (name == "valid") return {0, 0};
  if (name == "causal") return {reach(kernel, dilation) - 1, 0};
  if (name != "same")
    throw Error("padding: \"{}\" is not known; use \"valid\", \"same\" or \"causal\"", name);
  const int64_t out = (size + stride - 1) / stride;
  const int64_t total = std::max<int64_t>((out - 1) * stride + reach(kernel, dilation) - size, 0);
  return {total / 2, total - total / 2};
}

// Every pixel is scattered into a canvas of (size - 1) * stride + reach; the result is a stretch of
// it that begins at `before`, or goes on beyond it with zeros.
TransposedAxis keras_transposed_axis(std::string_view name, int64_t size, int64_t kernel,
                                     int64_t stride, int64_t dilation,
                                     std::optional<int64_t> output_padding) {
  check_axis("transposed padding", size, kernel, stride, dilation);
  const bool same = name == "same";
  if (!same && name != "valid")
    throw Error("transposed padding: \"{}\" is not known; use \"valid\" or \"same\"", name);
  const int64_t width = reach(kernel, dilation), canvas = (size - 1) * stride + width;
  TransposedAxis axis;
  if (output_padding) {
    if (*output_padding < 0 || *output_padding >= stride) {
      throw ShapeError(
          "transposed padding: output_padding is {}; it must be 0 or more and less "
          "than the stride {}",
          *output_padding, stride);
    }
    axis.size = canvas - (same ? width / 2 * 2 : 0) + *output_padding;
  } else {
    axis.size = same ? size * stride : (size - 1) * stride + std::max(width, stride);
  }
  const int64_t beyond = std::max<int64_t>(canvas - axis.size, 0);
  const int64_t before = same ? beyond / 2 : 0;
  axis.padding = {before, beyond - before};
  return axis;
}

}  // namespace snug::ops
