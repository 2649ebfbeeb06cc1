// What other ops ask about dropout.
#pragma once

#include "snug/graph/graph.h"

namespace snug::ops {

// Where dx is what the gradient of dropout(x) made of dy: that result, dy, and what the elements
// that stay are multiplied with. Otherwise empty. Not where nothing stays.
struct Dropped {
  Value result, dy;
  float scale = 1;
};
Dropped dropped_gradient(Value x, Value dx);

}  // namespace snug::ops
