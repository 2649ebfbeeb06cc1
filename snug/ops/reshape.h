// The reshaping of a value by a layer that knows who else reads it.
#pragma once

#include "snug/ops/ops.h"

namespace snug::ops {

// reshape(), where nobody else reads x or asks for its gradient: then it goes before a function of
// one value, element by element, that made x. The function's result is what its gradient reads and
// what follows reads, so that one of them is kept and not both.
Value reshape_alone(Value x, const Shape& shape);

}  // namespace snug::ops
