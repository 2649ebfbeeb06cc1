#pragma once

#include <vector>

#include "snug/nn/unary_layer.h"

namespace snug {

struct BatchNormalizationOptions {
  int64_t axis = -1;
  double momentum = 0.99, epsilon = 1e-3;
  bool center = true, scale = true;
  InitializerPtr beta_initializer = zeros(), gamma_initializer = ones();
  InitializerPtr moving_mean_initializer = zeros(), moving_variance_initializer = ones();
  RegularizerPtr beta_regularizer, gamma_regularizer;
  std::string name;
  bool trainable = true;
};
// Each channel less its mean, over its deviation. While it trains these are the batch's (of the
// steps that a mask keeps), and moving averages are made of them; otherwise, and where the layer is
// frozen, the moving averages. Weights: gamma, beta, moving_mean, moving_variance [channels].
Layer BatchNormalization(const BatchNormalizationOptions& options = {});

struct LayerNormalizationOptions {
  std::vector<int64_t> axis = {-1};
  double epsilon = 1e-3;
  bool center = true, scale = true;
  InitializerPtr beta_initializer = zeros(), gamma_initializer = ones();
  RegularizerPtr beta_regularizer, gamma_regularizer;
  std::string name;
  bool trainable = true;
};
// The same for each row, over the given axes. Weights: gamma, beta, of these axes' shape.
Layer LayerNormalization(const LayerNormalizationOptions& options = {});

struct GroupNormalizationOptions {
  int64_t axis = -1;
  double epsilon = 1e-3;
  bool center = true, scale = true;
  InitializerPtr beta_initializer = zeros(), gamma_initializer = ones();
  RegularizerPtr beta_regularizer, gamma_regularizer;
  std::string name;
  bool trainable = true;
};
// The same for each row, over each of equal groups of channels and all other axes; groups = -1:
// each channel is one. Weights: gamma, beta [channels].
Layer GroupNormalization(int64_t groups = 32, const GroupNormalizationOptions& options = {});

struct RMSNormalizationOptions {
  std::vector<int64_t> axis = {-1};
  double epsilon = 1e-6;
  std::string name;
  bool trainable = true;
};
// Over the root of the mean square along the axes. Weight: scale, of these axes' shape.
Layer RMSNormalization(const RMSNormalizationOptions& options = {});

// Over the root of the sum of squares along the axis.
Layer UnitNormalization(int64_t axis = -1, const LayerOptions& options = {});

}  // namespace snug
