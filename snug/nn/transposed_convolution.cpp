// Conv2DTranspose.

#include "snug/base/error.h"
#include "snug/nn/activation.h"
#include "snug/nn/convolution.h"
#include "snug/nn/image_window.h"
#include "snug/nn/visit_settings.h"

namespace snug {
namespace {

class TransposedDefinition final : public UnaryLayer {
 public:
  TransposedDefinition(int64_t filters, Size2D kernel_size, const Conv2DTransposeOptions& options)
      : filters_(filters), kernel_size_(kernel_size), options_(options) {
    check_activation(options_.activation);
  }

  std::string_view class_name() const override { return "Conv2DTranspose"; }

  void settings(SettingVisitor& visitor) override {
    visitor.visit("filters", filters_);
    visit_size(visitor, "kernel_size", kernel_size_);
    visit_size(visitor, "strides", options_.strides);
    visitor.visit("padding", options_.padding);
    visit_output_padding(visitor);
    visit_data_format(visitor);
    visit_size(visitor, "dilation_rate", options_.dilation_rate);
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
  void visit_output_padding(SettingVisitor& visitor) {
    std::optional<Size2D>& padding = options_.output_padding;
    std::optional<std::vector<int64_t>> list;
    if (padding) list = {padding->height, padding->width};
    visitor.visit("output_padding", list);
    if (list && (list->empty() || list->size() > 2))
      throw Error("output_padding: expected one number or two, got {}", list->size());
    std::optional<Size2D> seen;
    if (list) seen = Size2D(list->front(), list->back());
    put_if_changed(padding, seen);
  }

  ImageWindow window() const {
    return {kernel_size_, options_.strides, options_.dilation_rate, options_.padding};
  }

  void build_for(const Shape& x) override {
    expect_rank(x, 4, kImageAxes, kImageAdvice);
    expect_positive("filters", filters_, "give the number of filters, 1 or more");
    check_window(window(), label());
    channels_ = x[-1];
    const Shape kernel = {kernel_size_.height, kernel_size_.width, filters_, channels_};
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

  Value apply(Tracer& tracer, Value x) override {
    expect_rank(x.shape(), 4, kImageAxes, kImageAdvice);
    expect_channels(x.shape(), channels_);
    const Size2D strides = options_.strides, dilation = options_.dilation_rate;
    std::optional<int64_t> extra_height, extra_width;
    if (options_.output_padding) {
      extra_height = options_.output_padding->height;
      extra_width = options_.output_padding->width;
    }
    const ops::TransposedAxis vertical =
        ops::keras_transposed_axis(options_.padding, x.shape()[1], kernel_size_.height,
                                   strides.height, dilation.height, extra_height);
    const ops::TransposedAxis horizontal =
        ops::keras_transposed_axis(options_.padding, x.shape()[2], kernel_size_.width,
                                   strides.width, dilation.width, extra_width);
    Value y = ops::conv2d_transpose(x, tracer.value(kernel_), {vertical.size, horizontal.size},
                                    {.strides = pair_of(strides),
                                     .dilation = pair_of(dilation),
                                     .padding = {.top = vertical.padding[0],
                                                 .left = horizontal.padding[0],
                                                 .bottom = vertical.padding[1],
                                                 .right = horizontal.padding[1]},
                                     .bias = bias_ ? tracer.value(bias_) : Value()});
    y = apply_activation(tracer, options_.activation, y);
    if (options_.activity_regularizer)
      tracer.add_activity_loss(options_.activity_regularizer->penalty(y));
    return y;
  }

  int64_t filters_;
  Size2D kernel_size_;
  Conv2DTransposeOptions options_;
  int64_t channels_ = 0;
  VariablePtr kernel_, bias_;
};

}  // namespace

Layer Conv2DTranspose(int64_t filters, Size2D kernel_size, const Conv2DTransposeOptions& options) {
  return named_layer<TransposedDefinition>(options, filters, kernel_size, options);
}

}  // namespace snug
