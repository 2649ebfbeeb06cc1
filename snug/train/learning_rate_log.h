// The learning rate as callbacks see and set it.
#pragma once

#include "snug/train/model.h"

namespace snug {

// Of the next update.
inline double current_learning_rate(const Model& model) {
  const Compiled& compiled = model.compiled();
  return compiled.optimizer()->learning_rate_at(compiled.iterations());
}

// Throws Error for an optimizer with a schedule, before anything is trained.
void refuse_schedule(std::string_view who, const Model& model);

}  // namespace snug
