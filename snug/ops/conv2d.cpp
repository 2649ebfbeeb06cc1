// Convolutions of images: forward, the gradient of the image (which is also the transposed
// convolution) and the gradient of the kernel. Each is a convolution of the others' operands, so
// the three are closed under differentiation.

#include "snug/ops/conv2d.h"

#include <algorithm>
#include <limits>

#include "snug/base/error.h"

namespace snug::ops {
namespace {

using Window = ConvolutionWindow;

std::string text(const Window& window) {
  const Padding2D& p = window.padding;
  std::string text = fmt::format("strides={},{}", window.strides[0], window.strides[1]);
  if (window.dilation != std::array<int64_t, 2>{1, 1})
    text += fmt::format(" dilation={},{}", window.dilation[0], window.dilation[1]);
  if (p != Padding2D())
    text += fmt::format(" padding={},{},{},{}", p.top, p.left, p.bottom, p.right);
  if (window.groups != 1) text += fmt::format(" groups={}", window.groups);
  return text;
}

void check_window(std::string_view name, const Window& window) {
  const auto& [strides, dilation, padding, groups, depthwise] = window;
  if (std::ranges::min(strides) < 1 || std::ranges::min(dilation) < 1) {
    throw ShapeError("{}: strides are {}, {} and dilation {}, {}; each must be 1 or more", name,
                     strides[0], strides[1], dilation[0], dilation[1]);
  }
  if (std::min({padding.top, padding.left, padding.bottom, padding.right}) < 0) {
    throw ShapeError("{}: padding is {}, {}, {}, {}; none may be negative", name, padding.top,
                     padding.left, padding.bottom, padding.right);
  }
  if (groups < 1 && !depthwise)
    throw ShapeError("{}: groups is {}; it must be 1 or more", name, groups);
}

// The library counts in 32 bits, and products of two of them must be counted, too.
void check_counted(std::string_view name, const Window& window, const Shape& kernel) {
  const Padding2D& p = window.padding;
  const std::pair<std::string_view, int64_t> given[] = {
      {"stride", std::ranges::max(window.strides)},
      {"dilation", std::ranges::max(window.dilation)},
      {"padding", std::max({p.top, p.left, p.bottom, p.right})},
      {"kernel", std::max(kernel[0], kernel[1])}};
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  for (const auto& [what, value] : given) {
    if (value <= kMost) continue;
    throw ShapeError(
        "{}: the {} of an axis is {}; strides, dilations, padding and kernels go up to {}", name,
        what, value, kMost);
  }
}

// An image [rows, height, width, channels] or kernel: float32, four axes, all fixed but the rows.
void check_operand(std::string_view name, const Type& type, std::string_view what,
                   std::string_view axes, bool may_have_rows) {
  const bool fits = type.dtype == DType::float32 && type.shape.rank() == 4;
  bool fixed = fits;
  for (int axis = may_have_rows ? 1 : 0; fixed && axis < 4; ++axis) {
    fixed = !type.shape.extent(axis).times_rows && type.shape[axis] > 0;
  }
  if (!fixed)
    throw ShapeError("{}: the {} must be float32 {}, got {}", name, what, axes, type.text());
}

ConvolutionShape geometry(const Window& window, int64_t height, int64_t width, int64_t channels,
                          const Shape& kernel) {
  return {.height = height,
          .width = width,
          .channels = channels,
          .filters = window.depthwise ? kernel[2] * kernel[3] : kernel[3],
          .kernel_height = kernel[0],
          .kernel_width = kernel[1],
          .stride_height = window.strides[0],
          .stride_width = window.strides[1],
          .dilation_height = window.dilation[0],
          .dilation_width = window.dilation[1],
          .top = window.padding.top,
          .left = window.padding.left,
          .bottom = window.padding.bottom,
          .right = window.padding.right,
          .groups = window.depthwise ? channels : window.groups};
}

void check_channels(std::string_view name, const ConvolutionShape& shape, const Window& window,
                    const Shape& image, const Shape& kernel) {
  if (window.depthwise && kernel[2] != shape.channels) {
    throw ShapeError("{}: the kernel {} is for {} channels, the image {} has {}", name,
                     kernel.text(), kernel[2], image.text(), shape.channels);
  }
  if (window.depthwise) return;
  if (shape.channels % shape.groups != 0 || shape.filters % shape.groups != 0) {
    throw ShapeError("{}: groups = {} must divide the {} channels of the image and the {} filters",
                     name, shape.groups, shape.channels, shape.filters);
  }
  if (kernel[2] * shape.groups != shape.channels) {
    throw ShapeError(
        "{}: the kernel {} in {} group(s) is for {} channels, the image {} has {}; the kernel's "
        "third extent must be channels / groups",
        name, kernel.text(), shape.groups, kernel[2] * shape.groups, image.text(), shape.channels);
  }
}

void check_reach(std::string_view name, const ConvolutionShape& s, const Shape& image,
                 const Shape& kernel) {
  const int64_t reach_height = (s.kernel_height - 1) * s.dilation_height + 1;
  const int64_t reach_width = (s.kernel_width - 1) * s.dilation_width + 1;
  const int64_t height = s.height + s.top + s.bottom, width = s.width + s.left + s.right;
  if (reach_height <= height && reach_width <= width) return;
  throw ShapeError(
      "{}: the kernel {} reaches over {} x {} pixels, but the image {} with its padding has {} x "
      "{}; pad more (\"same\") or use a smaller kernel",
      name, kernel.text(), reach_height, reach_width, image.text(), height, width);
}

// All that can be wrong with an image and a kernel; the convolution at one row.
ConvolutionShape checked_geometry(std::string_view name, const Window& window, const Type& image,
                                  const Type& kernel) {
  check_window(name, window);
  check_operand(name, image, "image", "[rows, height, width, channels]", true);
  check_operand(name, kernel, "kernel",
                window.depthwise ? "[height, width, channels, multiplier]"
                                 : "[height, width, channels / groups, filters]",
                false);
  check_counted(name, window, kernel.shape);
  const Shape& x = image.shape;
  const ConvolutionShape shape = geometry(window, x[1], x[2], x[3], kernel.shape);
  check_channels(name, shape, window, x, kernel.shape);
  check_reach(name, shape, x, kernel.shape);
  return shape;
}

Type images(Extent rows, int64_t height, int64_t width, int64_t channels) {
  return {DType::float32, {rows, height, width, channels}};
}

Type result_images(Extent rows, const ConvolutionShape& shape) {
  return images(rows, shape.out_height(), shape.out_width(), shape.filters);
}

Cost convolution_cost(const Types& in, const Type& out, const ConvolutionTask& task) {
  Cost cost{.flops = convolution_flops(task), .bytes = static_cast<double>(out.bytes())};
  for (const Type& type : in) cost.bytes += static_cast<double>(type.bytes());
  return cost;
}

Value image_gradient(std::string_view name, const Window& window, Value dy, Value kernel,
                     const Shape& image);
Value kernel_gradient(const Window& window, Value image, Value dy, const Shape& kernel);

class Convolution final : public Op {
 public:
  explicit Convolution(const Window& window) : window_(window) {}

  const Window& window() const { return window_; }
  std::string_view name() const override {
    return window_.depthwise ? "depthwise_conv2d" : "conv2d";
  }
  std::string attributes() const override { return text(window_); }

  Types infer(const Types& in) const override {
    const ConvolutionShape shape = checked_geometry(name(), window_, in[0], in[1]);
    if (in.size() > 2 && in[2] != Type{DType::float32, {shape.filters}}) {
      throw ShapeError("{}: a bias of {} does not fit {} filters; it must be float32[{}]", name(),
                       in[2].text(), shape.filters, shape.filters);
    }
    return {result_images(in[0].shape.extent(0), shape)};
  }

  Values gradient(const Node& node, const Values& dy) const override {
    const Value x = node.input(0), kernel = node.input(1);
    Values result = {image_gradient("conv2d_image_gradient", window_, dy[0], kernel, x.shape()),
                     kernel_gradient(window_, x, dy[0], kernel.shape())};
    if (node.in().size() > 2) result.push_back(sum(dy[0], {.axes = {0, 1, 2}}));
    return result;
  }

  Rows rows(const Types&) const override { return Rows::each; }

  Cost cost(const Types& in) const override { return convolution_cost(in, infer(in)[0], task(in)); }

  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    return convolution_kernel(task(in), target);
  }

 private:
  ConvolutionTask task(const Types& in) const {
    const Shape& x = in[0].shape;
    ConvolutionShape shape = geometry(window_, x[1], x[2], x[3], in[1].shape);
    shape.batch = x[0];
    return {.shape = shape, .bias = in.size() > 2};
  }

  Window window_;
};

// dx from (dy, kernel), for the convolution that takes images of `size` to dy.
class ImageGradient final : public Op {
 public:
  ImageGradient(std::string_view name, const Window& window, std::array<int64_t, 2> size)
      : name_(name), window_(window), size_(size) {}

  std::string_view name() const override { return name_; }
  std::string attributes() const override {
    return fmt::format("size={},{} {}", size_[0], size_[1], text(window_));
  }

  Types infer(const Types& in) const override {
    check_operand(name_, in[0], "image", "[rows, height, width, channels]", true);
    check_operand(name_, in[1], "kernel", "[height, width, out, in]", false);
    const Shape &dy = in[0].shape, &kernel = in[1].shape;
    const Type image = images(dy.extent(0), size_[0], size_[1], channels(kernel));
    const ConvolutionShape shape = checked_geometry(name_, window_, image, in[1]);
    if (shape.filters != dy[3]) {
      throw ShapeError("{}: the kernel {} is for {} channels, the image {} has {}", name_,
                       kernel.text(), shape.filters, dy.text(), dy[3]);
    }
    if (shape.out_height() != dy[1] || shape.out_width() != dy[2]) {
      throw ShapeError(
          "{}: a result of {} x {} would come from an image of {} x {}, but the image is {}; "
          "keras_transposed_axis gives the size and the padding that go together",
          name_, size_[0], size_[1], shape.out_height(), shape.out_width(), dy.text());
    }
    return {image};
  }

  Values gradient(const Node& node, const Values& dx) const override {
    const Value dy = node.input(0), kernel = node.input(1);
    return {dy.graph().add<Convolution>({dx[0], kernel}, window_),
            kernel_gradient(window_, dx[0], dy, kernel.shape())};
  }

  Rows rows(const Types&) const override { return Rows::each; }

  Cost cost(const Types& in) const override { return convolution_cost(in, infer(in)[0], task(in)); }

  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    return convolution_kernel(task(in), target);
  }

 private:
  int64_t channels(const Shape& kernel) const {
    return window_.depthwise ? kernel[2] : kernel[2] * window_.groups;
  }

  ConvolutionTask task(const Types& in) const {
    const Shape& kernel = in[1].shape;
    ConvolutionShape shape = geometry(window_, size_[0], size_[1], channels(kernel), kernel);
    shape.batch = in[0].shape[0];
    return {.shape = shape, .direction = ConvolutionDirection::input_gradient};
  }

  std::string_view name_;
  Window window_;
  std::array<int64_t, 2> size_;
};

// The kernel's gradient from (x, dy): a sum over rows.
class KernelGradient final : public Op {
 public:
  KernelGradient(const Window& window, const Shape& kernel) : window_(window), kernel_(kernel) {}

  std::string_view name() const override { return "conv2d_kernel_gradient"; }
  std::string attributes() const override { return text(window_); }

  Types infer(const Types& in) const override {
    const Type kernel{DType::float32, kernel_};
    const ConvolutionShape shape = checked_geometry(name(), window_, in[0], kernel);
    SNUG_CHECK(in[1] == result_images(in[0].shape.extent(0), shape), "{}", in[1].text());
    return {kernel};
  }

  Values gradient(const Node& node, const Values& dw) const override {
    const Value x = node.input(0), dy = node.input(1);
    return {image_gradient("conv2d_image_gradient", window_, dy, dw[0], x.shape()),
            x.graph().add<Convolution>({x, dw[0]}, window_)};
  }

  Rows rows(const Types&) const override { return Rows::sum; }

  Cost cost(const Types& in) const override { return convolution_cost(in, infer(in)[0], task(in)); }

  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    return convolution_kernel(task(in), target);
  }

 private:
  ConvolutionTask task(const Types& in) const {
    const Shape& x = in[0].shape;
    ConvolutionShape shape = geometry(window_, x[1], x[2], x[3], kernel_);
    shape.batch = x[0];
    return {.shape = shape, .direction = ConvolutionDirection::weights_gradient};
  }

  Window window_;
  Shape kernel_;
};

Value image_gradient(std::string_view name, const Window& window, Value dy, Value kernel,
                     const Shape& image) {
  const std::array<int64_t, 2> size = {image[1], image[2]};
  return dy.graph().add<ImageGradient>({dy, kernel}, name, window, size);
}

Value kernel_gradient(const Window& window, Value image, Value dy, const Shape& kernel) {
  return dy.graph().add<KernelGradient>({image, dy}, window, kernel);
}

Window window_of(const Conv2DOptions& options, bool depthwise) {
  return {options.strides, options.dilation, options.padding, options.groups, depthwise};
}

Value convolve(std::string_view name, Value x, Value kernel, const Conv2DOptions& options,
               bool depthwise) {
  if (!x || !kernel) throw Error("{}: the {} is empty", name, x ? "kernel" : "image");
  Values in = {x, kernel};
  if (options.bias) in.push_back(options.bias);
  return x.graph().add<Convolution>(in, window_of(options, depthwise));
}

}  // namespace

const ConvolutionWindow* convolution_window(const Op& op) {
  const auto* convolution = dynamic_cast<const Convolution*>(&op);
  return convolution == nullptr ? nullptr : &convolution->window();
}

ConvolutionShape convolution_geometry(const ConvolutionWindow& window, const Shape& image,
                                      const Shape& kernel) {
  ConvolutionShape shape = geometry(window, image[1], image[2], image[3], kernel);
  if (!image.is_symbolic()) shape.batch = image[0];
  return shape;
}

Value convolution_image_gradient(const ConvolutionWindow& window, Value dy, Value kernel,
                                 const Shape& image) {
  return image_gradient("conv2d_image_gradient", window, dy, kernel, image);
}

Value conv2d(Value x, Value kernel, const Conv2DOptions& options) {
  return convolve("conv2d", x, kernel, options, /*depthwise=*/false);
}

Value depthwise_conv2d(Value x, Value kernel, const Conv2DOptions& options) {
  if (options.groups != 1) {
    throw ShapeError("depthwise_conv2d: groups is {}; leave it at 1, each channel is its own group",
                     options.groups);
  }
  return convolve("depthwise_conv2d", x, kernel, options, /*depthwise=*/true);
}

// The bias is a node of its own, for oneDNN has none in this direction; it joins what follows
// element by element.
Value conv2d_transpose(Value x, Value kernel, std::array<int64_t, 2> size,
                       const Conv2DOptions& options) {
  if (!x || !kernel) throw Error("conv2d_transpose: the {} is empty", x ? "kernel" : "image");
  const Value y = x.graph().add<ImageGradient>({x, kernel}, "conv2d_transpose",
                                               window_of(options, /*depthwise=*/false), size);
  if (!options.bias) return y;
  if (options.bias.type() != Type{DType::float32, {y.shape()[3]}}) {
    throw ShapeError(
        "conv2d_transpose: a bias of {} does not fit {} channels; it must be float32[{}]",
        options.bias.type().text(), y.shape()[3], y.shape()[3]);
  }
  return add(y, options.bias);
}

}  // namespace snug::ops
