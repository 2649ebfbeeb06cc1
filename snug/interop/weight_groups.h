// Where Keras keeps the weights of a network in its files (keras.md 3.3).
#pragma once

#include <string>
#include <vector>

#include "snug/nn/network.h"

namespace snug {

// The weights of one layer, or of the model itself, which has none of its own.
struct WeightGroup {
  std::string path;     // "layers/conv2d_1/vars", or "vars".
  std::string name;     // The layer's.
  Variables variables;  // Trained ones first.
};

// In the order of Keras's walk. A layer that stands in two places is there once, at the first.
std::vector<WeightGroup> weight_groups(const Network& network);

}  // namespace snug
