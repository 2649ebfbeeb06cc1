#pragma once

#include "snug/nn/layer.h"

namespace snug {

// Inside a trace: asks for gradients of what was computed so far.
class GradientTape {
 public:
  // The gradient of the sum of `y`'s elements with respect to each variable, of its shape; an empty
  // Value where y does not depend on it. A table's that goes to an optimizer as it is costs what
  // its rows of the batch cost.
  Values gradient(Value y, const Variables& variables) const;
  Values gradient(Value y, const Values& values) const;
};

// Inside a trace: what stands for variables in its graph.
Values traced(const Variables& variables);
// Inside a trace: what the layers that were called so far add to the loss (regularizers), Keras's
// model.losses.
Values added_losses();

}  // namespace snug
