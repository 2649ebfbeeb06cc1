// What other ops ask about element-wise functions of one value.
#pragma once

#include "snug/graph/graph.h"

namespace snug::ops {

// max(x, 0), without a slope, a threshold or a bound.
bool is_relu(const Op& op);
// min(max(x, 0), 6)
bool is_relu6(const Op& op);

// Where a relu or relu6 of x, and nothing else, gave x its gradient dx: that function and the
// gradient of its result. Otherwise empty.
struct Rectified {
  const Op* function = nullptr;
  Value dy;
};
Rectified rectified_gradient(Value x, Value dx);

}  // namespace snug::ops
