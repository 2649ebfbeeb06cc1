#include "snug/train/gradient_tape.h"

#include "snug/autodiff/gradients.h"
#include "snug/ops/ops.h"

namespace snug {

Values traced(const Variables& variables) {
  Values values;
  for (const VariablePtr& variable : variables) {
    values.push_back(current_tracer().value(variable));
  }
  return values;
}

Values added_losses() { return current_tracer().losses(); }

Values GradientTape::gradient(Value y, const Variables& variables) const {
  return gradient(y, traced(variables));
}

// A list of rows is for optimizers alone, which find it behind what is given here.
Values GradientTape::gradient(Value y, const Values& values) const {
  Values found = gradients(y, values);
  for (size_t i = 0; i < found.size(); ++i) {
    const Node* node = found[i] ? found[i].producer() : nullptr;
    if (node != nullptr && node->op().traits().row_gradient)
      found[i] = ops::dense_rows(found[i], values[i].shape());
  }
  return found;
}

}  // namespace snug
