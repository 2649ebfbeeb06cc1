#pragma once

#include "snug/graph/graph.h"

namespace snug {

// Adds the nodes that compute the gradient of `loss` (a scalar, or the sum of its elements) with
// respect to each of `wrt`. An empty Value where the loss does not depend on it. The gradient of a
// table that was only gathered from is a row gradient (see Traits::row_gradient); every other one
// has the type of its value.
Values gradients(Value loss, const Values& wrt);

// The same, from a given gradient of `y`.
Values gradients(Value y, Value y_gradient, const Values& wrt);

}  // namespace snug
