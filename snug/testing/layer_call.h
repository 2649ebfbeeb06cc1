// For tests of layers that need their types and messages only.
#pragma once

#include <gtest/gtest.h>

#include "snug/nn/layer.h"
#include "snug/nn/network.h"
#include "snug/testing/check_op.h"

namespace snug::testing {

// The shape that a layer gives for rows of that shape.
inline Shape result_of(const Layer& layer, const Shape& row, DType dtype = DType::float32) {
  const Symbol x = Input(row, {.dtype = dtype});
  return layer(x).shape();
}

// The message of the Error that the call throws.
inline std::string error_on(const Layer& layer, const Shape& row) {
  return error_of([&] { result_of(layer, row); });
}

// "kernel [3, 5], bias [5]", in the order of the weights.
inline std::string weights_of(const Layer& layer) {
  std::string text;
  for (const VariablePtr& variable : layer.weights()) {
    text += (text.empty() ? "" : ", ") + variable->name() + " " + variable->type().shape.text();
  }
  return text;
}

inline void expect_contains(const std::string& text, std::string_view part) {
  EXPECT_NE(text.find(part), std::string::npos) << "\"" << part << "\" is not in: " << text;
}

}  // namespace snug::testing
