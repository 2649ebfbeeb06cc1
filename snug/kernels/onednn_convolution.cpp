#include "snug/kernels/onednn_convolution.h"

#include <algorithm>
#include <atomic>

#include "snug/base/error.h"
#include "snug/base/threads.h"

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

OnednnConvolutionShape with_rows(OnednnConvolutionShape shape, int64_t rows) {
  shape.batch = rows;
  return shape;
}

void add_floats(float* sum, const float* term, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) sum[i] += term[i];
}

}  // namespace

OnednnConvolution::OnednnConvolution(const OnednnConvolutionShape& shape,
                                     ConvolutionDirection direction, int threads)
    : direction_(direction),
      has_bias_(shape.bias),
      image_floats_(shape.height * shape.width * shape.channels),
      result_floats_(shape.out_height() * shape.out_width() * shape.filters),
      parts_(shape.batch < threads ? 1 : threads),
      larger_rows_((shape.batch + parts_ - 1) / parts_),
      larger_parts_(shape.batch - parts_ * (larger_rows_ - 1)),
      larger_(make_primitive(with_rows(shape, larger_rows_), direction, threads / parts_)) {
  if (larger_parts_ < parts_) add_smaller(shape, threads);
  const OnednnFormat keras = WeightAxes(shape).keras();
  const OnednnFormat& library = larger_.format(1);
  const bool gradient = direction == ConvolutionDirection::weights_gradient;
  part_bytes_ =
      aligned(std::max(larger_.scratch_bytes(), smaller_ ? smaller_->scratch_bytes() : 0));
  part_bytes_ = thread_stride(part_bytes_, parts_);
  library_bytes_ = library.bytes();
  scratch_bytes_ = part_bytes_ * parts_;
  if (library == keras && !shape.accumulate) {
    if (!gradient) library_bytes_ = 0;
  } else {
    const int reorder_threads = threads / parts_;
    reorder_ = gradient ? make_reorder(library, keras, shape.accumulate, reorder_threads)
                        : make_reorder(keras, library, false, reorder_threads);
    scratch_bytes_ = std::max(scratch_bytes_, reorder_->scratch_bytes());
  }
  scratch_bytes_ += gradients_bytes();
}

// Where the library wants the weights of parts with a row less in another format, it shares the
// work out itself.
void OnednnConvolution::add_smaller(const OnednnConvolutionShape& shape, int threads) {
  OnednnPrimitive smaller = make_primitive(with_rows(shape, larger_rows_ - 1), direction_, 1);
  if (smaller.format(1) == larger_.format(1)) {
    smaller_ = std::move(smaller);
    return;
  }
  larger_ = make_primitive(shape, direction_, threads);
  larger_rows_ = shape.batch;
  parts_ = 1;
  larger_parts_ = 1;
}

// The gradients in the library's format, one a part, stand before what the primitives need. The
// first is the result itself where the library writes that as it should be.
size_t OnednnConvolution::gradients_bytes() const {
  if (direction_ != ConvolutionDirection::weights_gradient) return 0;
  return aligned(library_bytes_) * (parts_ - (reorder_ ? 0 : 1));
}

OnednnConvolution::Part OnednnConvolution::part(int number, void* scratch) const {
  const bool larger = number < larger_parts_;
  const int64_t before = std::max<int64_t>(0, number - larger_parts_);
  return {.number = number,
          .primitive = larger ? larger_ : *smaller_,
          .row = number * larger_rows_ - before,
          .scratch = static_cast<std::byte*>(scratch) + part_bytes_ * number};
}

template <typename Run>
bool OnednnConvolution::run_all(int lane, void* scratch, const Run& run) const {
  if (parts_ == 1) return run(lane, part(0, scratch));
  std::atomic<bool> all{true};
  parallel_parts(parts_, [&](int number) {
    if (!run(lane * parts_ + number, part(number, scratch))) all = false;
  });
  return all;
}

void OnednnConvolution::compile(int lanes) {
  larger_.compile(lanes * parts_);
  if (smaller_) smaller_->compile(lanes * parts_);
  if (reorder_) reorder_->compile(lanes);
}

int64_t OnednnConvolution::compiled_bytes() const {
  return larger_.compiled_bytes() + (smaller_ ? smaller_->compiled_bytes() : 0) +
         (reorder_ ? reorder_->compiled_bytes() : 0);
}

void OnednnConvolution::rest() noexcept {
  larger_.rest();
  if (smaller_) smaller_->rest();
  if (reorder_) reorder_->rest();
}

void OnednnConvolution::wake() noexcept {
  larger_.wake();
  if (smaller_) smaller_->wake();
  if (reorder_) reorder_->wake();
}

bool OnednnConvolution::prepare(int lane, const float* kernel, void* library,
                                void* scratch) const noexcept {
  if (direction_ == ConvolutionDirection::weights_gradient) return false;
  return !reorder_ || reorder_->run(lane, {kernel, library}, scratch);
}

bool OnednnConvolution::run_forward(int lane, const float* x, const void* weights,
                                    const float* bias, float* y, void* scratch) const noexcept {
  if (direction_ != ConvolutionDirection::forward) return false;
  return run_all(lane, scratch, [&](int own_lane, const Part& part) {
    const float* from = x + part.row * image_floats_;
    float* to = y + part.row * result_floats_;
    return has_bias_ ? part.primitive.run(own_lane, {from, weights, to, bias}, part.scratch)
                     : part.primitive.run(own_lane, {from, weights, to}, part.scratch);
  });
}

bool OnednnConvolution::run_input_gradient(int lane, const float* dy, const void* weights,
                                           float* dx, void* scratch) const noexcept {
  if (direction_ != ConvolutionDirection::input_gradient) return false;
  return run_all(lane, scratch, [&](int own_lane, const Part& part) {
    return part.primitive.run(
        own_lane, {dy + part.row * result_floats_, weights, dx + part.row * image_floats_},
        part.scratch);
  });
}

bool OnednnConvolution::run_weights_gradient(int lane, const float* x, const float* dy, float* dw,
                                             void* scratch) const noexcept {
  if (direction_ != ConvolutionDirection::weights_gradient) return false;
  auto* const gradients = static_cast<std::byte*>(scratch);
  const auto gradient = [&](int part) {
    if (!reorder_ && part-- == 0) return dw;
    return reinterpret_cast<float*>(gradients + aligned(library_bytes_) * part);
  };
  void* const rest = gradients + gradients_bytes();
  const bool all = run_all(lane, rest, [&](int own_lane, const Part& part) {
    return part.primitive.run(
        own_lane,
        {x + part.row * image_floats_, gradient(part.number), dy + part.row * result_floats_},
        part.scratch);
  });
  constexpr int64_t kLine = 16;
  parallel_ranges(static_cast<int64_t>(library_bytes_ / sizeof(float)), parts_, kLine,
                  [&](int64_t begin, int64_t end) {
                    for (int part = 1; part < parts_; ++part)
                      add_floats(gradient(0), gradient(part), begin, end);
                  });
  return all && (!reorder_ || reorder_->run(lane, {gradient(0), dw}, rest));
}

}  // namespace snug
