// What other ops ask about element-wise functions of one value.
#pragma once

#include "snug/graph/op.h"

namespace snug::ops {

// max(x, 0), without a slope, a threshold or a bound.
bool is_relu(const Op& op);
// min(max(x, 0), 6)
bool is_relu6(const Op& op);

}  // namespace snug::ops
