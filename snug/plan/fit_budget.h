// A step made to fit: the same step cut into smaller and smaller parts until its plan is within the
// budget.
#pragma once

#include <string>

#include "snug/plan/instantiate.h"
#include "snug/plan/plan.h"

namespace snug {

struct PlannedStep {
  Instance instance;
  Plan plan;
  int64_t part_rows = 0;  // Rows of a micro-batch where the budget forced one; 0: none.
};

// The fastest way of cutting the rows whose plan is within the budget: first as it runs best, then
// in parts of fewer rows side by side, then one after the other. Throws BudgetError with the least
// budget that works.
PlannedStep plan_within(const Graph& graph, const Values& results, int64_t rows,
                        const Target& target, int64_t budget_bytes,
                        const InstantiateOptions& options = {});

}  // namespace snug
