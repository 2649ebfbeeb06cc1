// The gradients of max, min and product, for reduce.cpp.
#pragma once

#include <vector>

#include "snug/graph/graph.h"

namespace snug::ops {

// Of y, the largest or smallest of x along `axes` (counted from the front): dy goes to the elements
// that equal y, in equal shares, as in TensorFlow. dy and y may have the axes as 1 or not at all.
Value extreme_gradient(Value x, Value y, Value dy, const std::vector<int>& axes);

// Of the product of x along `axes`: dy times the product of the others. Zeros are no trouble.
Value product_gradient(Value x, Value dy, const std::vector<int>& axes);

}  // namespace snug::ops
