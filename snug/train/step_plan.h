// A step of one's own planned within its budget, before any of its memory is taken.
#pragma once

#include <memory>

#include "snug/train/runner.h"

namespace snug {

// Plans `step` for batches of so many rows. With `memory` its kernels are compiled, and what they
// take is within it; without, it is guessed. `options.budget_bytes` is set here. Throws BudgetError
// when it does not fit.
std::shared_ptr<Runner> plan_step(const StepGraph& step, int64_t rows, int64_t memory,
                                  RunnerOptions options);

}  // namespace snug
