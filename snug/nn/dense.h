#pragma once

#include "snug/nn/unary_layer.h"

namespace snug {

struct DenseOptions {
  std::string activation = "linear";
  bool use_bias = true;
  InitializerPtr kernel_initializer = glorot_uniform();
  InitializerPtr bias_initializer = zeros();
  RegularizerPtr kernel_regularizer, bias_regularizer, activity_regularizer;
  std::string name;
  bool trainable = true;
};

// activation(x kernel + bias) along the last axis: [rows, ..., features] -> [rows, ..., units].
Layer Dense(int64_t units, const DenseOptions& options = {});
Layer Dense(int64_t units, const char* activation);

}  // namespace snug
