// A forward pass planned within a budget, before any of its memory is taken.
#pragma once

#include "snug/train/fit_setup.h"

namespace snug {

struct ForwardStep {
  std::function<StepGraph()> build;
  const Stager* stager;
  Variables weights;
  std::string name;  // "predict", "evaluate"
};

// The plan of evaluate or predict, its only runner that of validation. With a budget of the user's
// its kernels are compiled, and what they take is within it; otherwise it is guessed. Throws
// FitRefused, which names a budget that works.
FitSetup plan_forward(const ForwardStep& step, const EvaluateOptions& options);

}  // namespace snug
