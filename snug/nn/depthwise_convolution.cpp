// DepthwiseConv2D and SeparableConv2D.

#include "snug/nn/activation.h"
#include "snug/nn/convolution.h"
#include "snug/nn/image_window.h"
#include "snug/nn/visit_settings.h"

namespace snug {
namespace {

class DepthwiseDefinition final : public UnaryLayer {
 public:
  DepthwiseDefinition(Size2D kernel_size, const DepthwiseConv2DOptions& options)
      : kernel_size_(kernel_size), options_(options) {
    check_activation(options_.activation);
  }

  std::string_view class_name() const override { return "DepthwiseConv2D"; }

  void settings(SettingVisitor& visitor) override {
    visitor.visit("depth_multiplier", options_.depth_multiplier);
    visit_size(visitor, "kernel_size", kernel_size_);
    visit_size(visitor, "strides", options_.strides);
    visitor.visit("padding", options_.padding);
    visit_data_format(visitor);
    visit_size(visitor, "dilation_rate", options_.dilation_rate);
    visitor.visit("activation", options_.activation);
    visitor.visit("use_bias", options_.use_bias);
    visit_initializer(visitor, "depthwise_initializer", options_.depthwise_initializer);
    visit_initializer(visitor, "bias_initializer", options_.bias_initializer);
    visit_regularizer(visitor, "depthwise_regularizer", options_.depthwise_regularizer);
    visit_regularizer(visitor, "bias_regularizer", options_.bias_regularizer);
    visit_regularizer(visitor, "activity_regularizer", options_.activity_regularizer);
    visit_constraint(visitor, "depthwise_constraint");
    visit_constraint(visitor, "bias_constraint");
  }

 private:
  ImageWindow window() const {
    return {kernel_size_, options_.strides, options_.dilation_rate, options_.padding};
  }

  void build_for(const Shape& x) override {
    expect_rank(x, 4, kImageAxes, kImageAdvice);
    expect_positive("depth_multiplier", options_.depth_multiplier,
                    "give the number of filters for each channel, 1 or more");
    check_window(window(), label());
    channels_ = x[-1];
    const Shape kernel = {kernel_size_.height, kernel_size_.width, channels_,
                          options_.depth_multiplier};
    kernel_ = add_weight({.name = "kernel",
                          .type = {DType::float32, kernel},
                          .initializer = options_.depthwise_initializer,
                          .regularizer = options_.depthwise_regularizer});
    if (!options_.use_bias) return;
    bias_ = add_weight({.name = "bias",
                        .type = {DType::float32, {Extent(channels_ * options_.depth_multiplier)}},
                        .initializer = options_.bias_initializer,
                        .regularizer = options_.bias_regularizer});
  }

  Value apply(Tracer& tracer, Value x) override {
    expect_rank(x.shape(), 4, kImageAxes, kImageAdvice);
    expect_channels(x.shape(), channels_);
    Value y = ops::depthwise_conv2d(x, tracer.value(kernel_),
                                    {.strides = pair_of(options_.strides),
                                     .dilation = pair_of(options_.dilation_rate),
                                     .padding = padding_of(window(), x.shape()),
                                     .bias = bias_ ? tracer.value(bias_) : Value()});
    y = apply_activation(tracer, options_.activation, y);
    if (options_.activity_regularizer)
      tracer.add_activity_loss(options_.activity_regularizer->penalty(y));
    return y;
  }

  Size2D kernel_size_;
  DepthwiseConv2DOptions options_;
  int64_t channels_ = 0;
  VariablePtr kernel_, bias_;
};

class SeparableDefinition final : public UnaryLayer {
 public:
  SeparableDefinition(int64_t filters, Size2D kernel_size, const SeparableConv2DOptions& options)
      : filters_(filters), kernel_size_(kernel_size), options_(options) {
    check_activation(options_.activation);
  }

  std::string_view class_name() const override { return "SeparableConv2D"; }

  void settings(SettingVisitor& visitor) override {
    visitor.visit("depth_multiplier", options_.depth_multiplier);
    visitor.visit("filters", filters_);
    visit_size(visitor, "kernel_size", kernel_size_);
    visit_size(visitor, "strides", options_.strides);
    visitor.visit("padding", options_.padding);
    visit_data_format(visitor);
    visit_size(visitor, "dilation_rate", options_.dilation_rate);
    visitor.visit("activation", options_.activation);
    visitor.visit("use_bias", options_.use_bias);
    visit_initializer(visitor, "depthwise_initializer", options_.depthwise_initializer);
    visit_initializer(visitor, "pointwise_initializer", options_.pointwise_initializer);
    visit_initializer(visitor, "bias_initializer", options_.bias_initializer);
    visit_regularizer(visitor, "depthwise_regularizer", options_.depthwise_regularizer);
    visit_regularizer(visitor, "pointwise_regularizer", options_.pointwise_regularizer);
    visit_regularizer(visitor, "bias_regularizer", options_.bias_regularizer);
    visit_regularizer(visitor, "activity_regularizer", options_.activity_regularizer);
    visit_constraint(visitor, "depthwise_constraint");
    visit_constraint(visitor, "pointwise_constraint");
    visit_constraint(visitor, "bias_constraint");
  }

 private:
  ImageWindow window() const {
    return {kernel_size_, options_.strides, options_.dilation_rate, options_.padding};
  }

  void build_for(const Shape& x) override {
    expect_rank(x, 4, kImageAxes, kImageAdvice);
    expect_positive("filters", filters_, "give the number of filters, 1 or more");
    expect_positive("depth_multiplier", options_.depth_multiplier,
                    "give the number of filters for each channel, 1 or more");
    check_window(window(), label());
    channels_ = x[-1];
    const int64_t multiplier = options_.depth_multiplier;
    depthwise_ = add_weight(
        {.name = "depthwise_kernel",
         .type = {DType::float32, {kernel_size_.height, kernel_size_.width, channels_, multiplier}},
         .initializer = options_.depthwise_initializer,
         .regularizer = options_.depthwise_regularizer});
    pointwise_ = add_weight({.name = "pointwise_kernel",
                             .type = {DType::float32, {1, 1, channels_ * multiplier, filters_}},
                             .initializer = options_.pointwise_initializer,
                             .regularizer = options_.pointwise_regularizer});
    if (!options_.use_bias) return;
    bias_ = add_weight({.name = "bias",
                        .type = {DType::float32, {Extent(filters_)}},
                        .initializer = options_.bias_initializer,
                        .regularizer = options_.bias_regularizer});
  }

  Value apply(Tracer& tracer, Value x) override {
    expect_rank(x.shape(), 4, kImageAxes, kImageAdvice);
    expect_channels(x.shape(), channels_);
    Value y = ops::depthwise_conv2d(x, tracer.value(depthwise_),
                                    {.strides = pair_of(options_.strides),
                                     .dilation = pair_of(options_.dilation_rate),
                                     .padding = padding_of(window(), x.shape())});
    y = ops::conv2d(y, tracer.value(pointwise_), {.bias = bias_ ? tracer.value(bias_) : Value()});
    y = apply_activation(tracer, options_.activation, y);
    if (options_.activity_regularizer)
      tracer.add_activity_loss(options_.activity_regularizer->penalty(y));
    return y;
  }

  int64_t filters_;
  Size2D kernel_size_;
  SeparableConv2DOptions options_;
  int64_t channels_ = 0;
  VariablePtr depthwise_, pointwise_, bias_;
};

}  // namespace

Layer DepthwiseConv2D(Size2D kernel_size, const DepthwiseConv2DOptions& options) {
  return named_layer<DepthwiseDefinition>(options, kernel_size, options);
}

Layer SeparableConv2D(int64_t filters, Size2D kernel_size, const SeparableConv2DOptions& options) {
  return named_layer<SeparableDefinition>(options, filters, kernel_size, options);
}

}  // namespace snug
