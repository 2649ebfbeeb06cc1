#pragma once

#include <optional>
#include <vector>

#include "snug/nn/unary_layer.h"

namespace snug {

// The activation of that name, as a layer: Activation("relu").
Layer Activation(std::string_view activation, const LayerOptions& options = {});
// Passes its input on.
Layer Identity(const LayerOptions& options = {});

struct ReLUOptions {
  std::optional<double> max_value;
  double negative_slope = 0;
  double threshold = 0;
  std::string name;
};
// min(x, max_value) above the threshold, negative_slope * (x - threshold) below.
Layer ReLU(const ReLUOptions& options = {});
// x above 0, negative_slope * x below.
Layer LeakyReLU(double negative_slope = 0.3, const LayerOptions& options = {});
// x above 0, alpha * (exp(x) - 1) below.
Layer ELU(double alpha = 1, const LayerOptions& options = {});
// exp(x) over its sum along the axis. Elements that a mask of the input's own shape leaves out
// become 0.
Layer Softmax(int64_t axis = -1, const LayerOptions& options = {});

struct PReLUOptions {
  InitializerPtr alpha_initializer = zeros();
  RegularizerPtr alpha_regularizer;
  std::optional<std::vector<int64_t>> shared_axes;  // Counted from 1: axes with one alpha for all.
  std::string name;
  bool trainable = true;
};
// x above 0, alpha * x below. Weight: alpha, of the input's shape without rows.
Layer PReLU(const PReLUOptions& options = {});

}  // namespace snug
