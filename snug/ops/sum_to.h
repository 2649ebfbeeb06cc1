// The gradient of an operand that was broadcast.
#pragma once

#include "snug/graph/graph.h"

namespace snug::ops {

// Adds up a gradient over the axes along which a value of `shape` was broadcast to it. The result
// has `shape`; over rows it is a sum over rows.
Value sum_to(Value gradient, const Shape& shape);

}  // namespace snug::ops
