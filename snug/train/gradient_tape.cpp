#include "snug/train/gradient_tape.h"

#include "snug/autodiff/gradients.h"

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
  return gradients(y, traced(variables));
}

Values GradientTape::gradient(Value y, const Values& values) const { return gradients(y, values); }

}  // namespace snug
