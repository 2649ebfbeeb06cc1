#include "snug/kernels/onednn_convolution.h"

#include <algorithm>

#include "snug/base/error.h"

namespace snug {
namespace {

constexpr size_t kAlignment = 64;

size_t aligned(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// oneDNN counts axes as batch, channels, height, width, whatever their order in memory.
OnednnFormat channels_last(int64_t batch, int64_t channels, int64_t height, int64_t width) {
  const int64_t sizes[] = {batch, channels, height, width};
  const int64_t strides[] = {height * width * channels, 1, width * channels, channels};
  return OnednnFormat::strided(sizes, strides);
}

// Axes of the weights: groups, filters of a group, channels of a group, height, width. The axis of
// groups is left out when there is one group.
struct WeightAxes {
  explicit WeightAxes(const OnednnConvolutionShape& shape)
      : sizes{shape.groups, shape.filters / shape.groups, shape.channels / shape.groups,
              shape.kernel_height, shape.kernel_width},
        skip(shape.groups == 1 ? 1 : 0) {}

  OnednnFormat keras() const {
    const int64_t filters = sizes[0] * sizes[1];
    const int64_t strides[] = {sizes[1], 1, filters, sizes[4] * sizes[2] * filters,
                               sizes[2] * filters};
    return OnednnFormat::strided(std::span(sizes).subspan(skip), std::span(strides).subspan(skip));
  }
  OnednnFormat any() const { return OnednnFormat::any(std::span(sizes).subspan(skip)); }

  int64_t sizes[5];
  int skip;
};

OnednnConvolutionFormats operands(const OnednnConvolutionShape& shape) {
  OnednnConvolutionFormats formats;
  formats.x = channels_last(shape.batch, shape.channels, shape.height, shape.width);
  formats.y = channels_last(shape.batch, shape.filters, shape.out_height(), shape.out_width());
  formats.weights = WeightAxes(shape).any();
  const int64_t sizes[] = {shape.filters};
  const int64_t strides[] = {1};
  if (shape.bias) formats.bias = OnednnFormat::strided(sizes, strides);
  return formats;
}

OnednnWindow window(const OnednnConvolutionShape& shape) {
  return {.strides = {shape.stride_height, shape.stride_width},
          .dilations = {shape.dilation_height - 1, shape.dilation_width - 1},
          .before = {shape.top, shape.left},
          .after = {shape.bottom, shape.right}};
}

void check_shape(const OnednnConvolutionShape& shape, ConvolutionDirection direction) {
  SNUG_CHECK(shape.out_height() > 0 && shape.out_width() > 0, "output of {} x {}",
             shape.out_height(), shape.out_width());
  SNUG_CHECK(
      shape.groups > 0 && shape.channels % shape.groups == 0 && shape.filters % shape.groups == 0,
      "{} groups of {} channels and {} filters", shape.groups, shape.channels, shape.filters);
  SNUG_CHECK(!shape.bias || direction == ConvolutionDirection::forward);
  SNUG_CHECK(!shape.accumulate || direction == ConvolutionDirection::weights_gradient);
}

OnednnPrimitive make_primitive(const OnednnConvolutionShape& shape, ConvolutionDirection direction,
                               int threads) {
  check_shape(shape, direction);
  const OnednnThreads guard(threads);
  const OnednnConvolutionFormats formats = operands(shape);
  using Arguments = std::vector<OnednnPrimitive::Argument>;
  if (direction == ConvolutionDirection::input_gradient) {
    OnednnDescriptor made = describe_input_gradient(formats, window(shape));
    const OnednnFormat weights = OnednnFormat::chosen(made.get(), dnnl_query_weights_md);
    Arguments arguments = {{DNNL_ARG_DIFF_DST, formats.y},
                           {DNNL_ARG_WEIGHTS, weights},
                           {DNNL_ARG_DIFF_SRC, formats.x}};
    return {std::move(made), std::move(arguments), threads};
  }
  if (direction == ConvolutionDirection::weights_gradient) {
    OnednnDescriptor made = describe_weights_gradient(formats, window(shape));
    const OnednnFormat weights = OnednnFormat::chosen(made.get(), dnnl_query_diff_weights_md);
    Arguments arguments = {{DNNL_ARG_SRC, formats.x},
                           {DNNL_ARG_DIFF_WEIGHTS, weights},
                           {DNNL_ARG_DIFF_DST, formats.y}};
    return {std::move(made), std::move(arguments), threads};
  }
  OnednnDescriptor made = describe_forward(formats, window(shape));
  const OnednnFormat weights = OnednnFormat::chosen(made.get(), dnnl_query_weights_md);
  Arguments arguments = {
      {DNNL_ARG_SRC, formats.x}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_DST, formats.y}};
  if (shape.bias) arguments.push_back({DNNL_ARG_BIAS, formats.bias});
  return {std::move(made), std::move(arguments), threads};
}

OnednnPrimitive make_reorder(const OnednnFormat& from, const OnednnFormat& to, bool accumulate,
                             int threads) {
  const OnednnThreads guard(threads);
  return {
      describe_reorder(from, to, accumulate), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}, threads};
}

}  // namespace

OnednnConvolution::OnednnConvolution(const OnednnConvolutionShape& shape,
                                     ConvolutionDirection direction, int threads)
    : direction_(direction),
      has_bias_(shape.bias),
      primitive_(make_primitive(shape, direction, threads)) {
  const OnednnFormat keras = WeightAxes(shape).keras();
  const OnednnFormat& library = primitive_.format(1);
  const bool gradient = direction == ConvolutionDirection::weights_gradient;
  scratch_bytes_ = primitive_.scratch_bytes();
  if (library == keras && !shape.accumulate) return;
  reorder_ = gradient ? make_reorder(library, keras, shape.accumulate, threads)
                      : make_reorder(keras, library, false, threads);
  library_bytes_ = library.bytes();
  scratch_bytes_ = std::max(scratch_bytes_, reorder_->scratch_bytes());
  // The gradient in the library's format stands first, what the two primitives need after it.
  if (gradient) scratch_bytes_ += aligned(library_bytes_);
}

void OnednnConvolution::compile(int lanes) {
  primitive_.compile(lanes);
  if (reorder_) reorder_->compile(lanes);
}

bool OnednnConvolution::prepare(int lane, const float* kernel, void* library,
                                void* scratch) const noexcept {
  if (direction_ == ConvolutionDirection::weights_gradient) return false;
  return !reorder_ || reorder_->run(lane, {kernel, library}, scratch);
}

bool OnednnConvolution::run_forward(int lane, const float* x, const void* weights,
                                    const float* bias, float* y, void* scratch) const noexcept {
  if (direction_ != ConvolutionDirection::forward) return false;
  if (has_bias_) return primitive_.run(lane, {x, weights, y, bias}, scratch);
  return primitive_.run(lane, {x, weights, y}, scratch);
}

bool OnednnConvolution::run_input_gradient(int lane, const float* dy, const void* weights,
                                           float* dx, void* scratch) const noexcept {
  if (direction_ != ConvolutionDirection::input_gradient) return false;
  return primitive_.run(lane, {dy, weights, dx}, scratch);
}

bool OnednnConvolution::run_weights_gradient(int lane, const float* x, const float* dy, float* dw,
                                             void* scratch) const noexcept {
  if (direction_ != ConvolutionDirection::weights_gradient) return false;
  if (!reorder_) return primitive_.run(lane, {x, dw, dy}, scratch);
  void* const rest = static_cast<std::byte*>(scratch) + aligned(library_bytes_);
  return primitive_.run(lane, {x, scratch, dy}, rest) && reorder_->run(lane, {scratch, dw}, rest);
}

}  // namespace snug
