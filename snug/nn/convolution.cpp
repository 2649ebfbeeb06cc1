#include "snug/nn/convolution.h"

#include "snug/base/error.h"
#include "snug/nn/activation.h"
#include "snug/nn/image_window.h"
#include "snug/nn/visit_settings.h"

namespace snug {
namespace {

template <typename Size>
class Convolution final : public UnaryLayer {
 public:
  Convolution(int64_t filters, Size kernel_size, const ConvOptions<Size>& options)
      : filters_(filters), kernel_size_(kernel_size), options_(options) {
    check_activation(options_.activation);
  }

  std::string_view class_name() const override { return kSteps ? "Conv1D" : "Conv2D"; }

  void settings(SettingVisitor& visitor) override {
    visitor.visit("filters", filters_);
    visit_size(visitor, "kernel_size", kernel_size_);
    visit_size(visitor, "strides", options_.strides);
    visitor.visit("padding", options_.padding);
    visit_data_format(visitor);
    visit_size(visitor, "dilation_rate", options_.dilation_rate);
    visitor.visit("groups", options_.groups);
    visitor.visit("activation", options_.activation);
    visitor.visit("use_bias", options_.use_bias);
    visit_initializer(visitor, "kernel_initializer", options_.kernel_initializer);
    visit_initializer(visitor, "bias_initializer", options_.bias_initializer);
    visit_regularizer(visitor, "kernel_regularizer", options_.kernel_regularizer);
    visit_regularizer(visitor, "bias_regularizer", options_.bias_regularizer);
    visit_regularizer(visitor, "activity_regularizer", options_.activity_regularizer);
    visit_constraint(visitor, "kernel_constraint");
    visit_constraint(visitor, "bias_constraint");
  }

 private:
  static constexpr bool kSteps = std::is_same_v<Size, int64_t>;

  void expect_axes(const Shape& x) const {
    if (kSteps)
      expect_rank(x, 3, kStepAxes, kStepAdvice);
    else
      expect_rank(x, 4, kImageAxes, kImageAdvice);
  }

  void build_for(const Shape& x) override {
    expect_axes(x);
    expect_positive("filters", filters_, "give the number of filters, 1 or more");
    expect_positive("groups", options_.groups, "give the number of groups, 1 or more");
    check_window(window(), label(), /*causal=*/kSteps);
    if (x[-1] % options_.groups != 0 || filters_ % options_.groups != 0) {
      throw ShapeError("{}: groups = {} must divide the {} channels of {} and the {} filters",
                       label(), options_.groups, x[-1], x.text(), filters_);
    }
    channels_ = x[-1];
    Shape kernel;
    if (!kSteps) kernel.push_back(as_image(kernel_size_).height);
    kernel.push_back(as_image(kernel_size_).width);
    kernel.push_back(channels_ / options_.groups);
    kernel.push_back(filters_);
    kernel_ = add_weight({.name = "kernel",
                          .type = {DType::float32, kernel},
                          .initializer = options_.kernel_initializer,
                          .regularizer = options_.kernel_regularizer});
    if (!options_.use_bias) return;
    bias_ = add_weight({.name = "bias",
                        .type = {DType::float32, {Extent(filters_)}},
                        .initializer = options_.bias_initializer,
                        .regularizer = options_.bias_regularizer});
  }

  ImageWindow window() const {
    return {.size = as_image(kernel_size_),
            .strides = as_image(options_.strides),
            .dilation = as_image(options_.dilation_rate),
            .padding = options_.padding};
  }

  Value apply(Tracer& tracer, Value x) override {
    expect_axes(x.shape());
    expect_channels(x.shape(), channels_);
    const Value image = kSteps ? steps_to_image(x) : x;
    Value kernel = tracer.value(kernel_);
    if (kSteps) {
      const Shape& k = kernel.shape();
      kernel = ops::reshape(kernel, {1, k.extent(0), k.extent(1), k.extent(2)});
    }
    Value y = ops::conv2d(image, kernel,
                          {.strides = pair_of(as_image(options_.strides)),
                           .dilation = pair_of(as_image(options_.dilation_rate)),
                           .padding = padding_of(image.shape()),
                           .groups = options_.groups,
                           .bias = bias_ ? tracer.value(bias_) : Value()});
    y = apply_activation(tracer, options_.activation, kSteps ? image_to_steps(y) : y);
    if (options_.activity_regularizer)
      tracer.add_activity_loss(options_.activity_regularizer->penalty(y));
    return y;
  }

  // A causal convolution looks back along the steps; its height of 1 needs no padding anyway.
  ops::Padding2D padding_of(const Shape& image) const { return snug::padding_of(window(), image); }

  int64_t filters_;
  Size kernel_size_;
  ConvOptions<Size> options_;
  int64_t channels_ = 0;
  VariablePtr kernel_, bias_;
};

}  // namespace

Layer Conv1D(int64_t filters, int64_t kernel_size, const Conv1DOptions& options) {
  return named_layer<Convolution<int64_t>>(options, filters, kernel_size, options);
}

Layer Conv2D(int64_t filters, Size2D kernel_size, const Conv2DOptions& options) {
  return named_layer<Convolution<Size2D>>(options, filters, kernel_size, options);
}

}  // namespace snug
