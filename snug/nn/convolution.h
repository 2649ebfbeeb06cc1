// Convolutions over steps [rows, steps, channels] and images [rows, height, width, channels].
#pragma once

#include <optional>

#include "snug/nn/size2d.h"
#include "snug/nn/unary_layer.h"

namespace snug {

template <typename Size>
struct ConvOptions {
  Size strides = 1;
  std::string padding = "valid";  // Or "same", and for Conv1D "causal".
  Size dilation_rate = 1;
  int64_t groups = 1;
  std::string activation = "linear";
  bool use_bias = true;
  InitializerPtr kernel_initializer = glorot_uniform();
  InitializerPtr bias_initializer = zeros();
  RegularizerPtr kernel_regularizer, bias_regularizer, activity_regularizer;
  std::string name;
  bool trainable = true;
};
using Conv1DOptions = ConvOptions<int64_t>;
using Conv2DOptions = ConvOptions<Size2D>;

// Weights: kernel [size..., channels / groups, filters], bias [filters].
Layer Conv1D(int64_t filters, int64_t kernel_size, const Conv1DOptions& options = {});
Layer Conv2D(int64_t filters, Size2D kernel_size, const Conv2DOptions& options = {});

struct Conv2DTransposeOptions {
  Size2D strides = 1;
  std::string padding = "valid";  // Or "same".
  std::optional<Size2D> output_padding;
  Size2D dilation_rate = 1;
  std::string activation = "linear";
  bool use_bias = true;
  InitializerPtr kernel_initializer = glorot_uniform();
  InitializerPtr bias_initializer = zeros();
  RegularizerPtr kernel_regularizer, bias_regularizer, activity_regularizer;
  std::string name;
  bool trainable = true;
};
// Weights: kernel [height, width, filters, channels], bias [filters].
Layer Conv2DTranspose(int64_t filters, Size2D kernel_size,
                      const Conv2DTransposeOptions& options = {});

struct DepthwiseConv2DOptions {
  Size2D strides = 1;
  std::string padding = "valid";  // Or "same".
  int64_t depth_multiplier = 1;
  Size2D dilation_rate = 1;
  std::string activation = "linear";
  bool use_bias = true;
  InitializerPtr depthwise_initializer = glorot_uniform();
  InitializerPtr bias_initializer = zeros();
  RegularizerPtr depthwise_regularizer, bias_regularizer, activity_regularizer;
  std::string name;
  bool trainable = true;
};
// Each channel with filters of its own. Weights: kernel [height, width, channels,
// depth_multiplier], bias [channels * depth_multiplier].
Layer DepthwiseConv2D(Size2D kernel_size, const DepthwiseConv2DOptions& options = {});

struct SeparableConv2DOptions {
  Size2D strides = 1;
  std::string padding = "valid";  // Or "same".
  Size2D dilation_rate = 1;
  int64_t depth_multiplier = 1;
  std::string activation = "linear";
  bool use_bias = true;
  InitializerPtr depthwise_initializer = glorot_uniform();
  InitializerPtr pointwise_initializer = glorot_uniform();
  InitializerPtr bias_initializer = zeros();
  RegularizerPtr depthwise_regularizer, pointwise_regularizer, bias_regularizer,
      activity_regularizer;
  std::string name;
  bool trainable = true;
};
// Depthwise, then 1 x 1. Weights: depthwise_kernel [height, width, channels, depth_multiplier],
// pointwise_kernel [1, 1, channels * depth_multiplier, filters], bias [filters].
Layer SeparableConv2D(int64_t filters, Size2D kernel_size,
                      const SeparableConv2DOptions& options = {});

}  // namespace snug
