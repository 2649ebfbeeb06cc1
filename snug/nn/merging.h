// Layers that make one value of several: Add()({a, b}). Inputs are broadcast as in Keras: those
// with fewer axes get axes of 1 behind their rows. Where every input has a mask, a step of the
// result is real if it is in any of them.
#pragma once

#include <array>

#include "snug/nn/unary_layer.h"

namespace snug {

Layer Add(const LayerOptions& options = {});
Layer Subtract(const LayerOptions& options = {});  // Of exactly two.
Layer Multiply(const LayerOptions& options = {});
Layer Average(const LayerOptions& options = {});
Layer Maximum(const LayerOptions& options = {});
Layer Minimum(const LayerOptions& options = {});

// One behind the other along an axis in which alone they may differ.
Layer Concatenate(int64_t axis = -1, const LayerOptions& options = {});

struct DotOptions {
  bool normalize = false;  // To unit length first: the cosine of two vectors.
  std::string name;
};
// The products of two inputs summed along an axis of each (not the first), which drop out:
// [rows, rest of the first..., rest of the second...], at least [rows, 1].
Layer Dot(std::array<int64_t, 2> axes, const DotOptions& options = {});
Layer Dot(int64_t axes, const DotOptions& options = {});

}  // namespace snug
