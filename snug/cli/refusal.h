#pragma once

#include <optional>
#include <string>

#include "snug/base/error.h"
#include "snug/cli/session.h"

namespace snug::cli {

// The error for a run that does not fit: what is largest, the least budget that works, and changes
// that would fit, each of them planned before it is offered. `cause` is what the planner said.
BudgetError refusal(Session& session, const BudgetError& cause);

// The plan within this budget; none where there is none.
std::optional<FitPlan> plan_if_it_fits(Model& model, const PlanOptions& options);
// The plan without a limit.
FitPlan plan_without_limit(Model& model, PlanOptions options);

// The largest part of a plan, as "the activations (12.3 MiB)".
std::string largest_part(const FitPlan& plan);

}  // namespace snug::cli
