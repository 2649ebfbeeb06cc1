#include "snug/train/step_plan.h"

#include "snug/base/error.h"
#include "snug/plan/fit_budget.h"
#include "snug/train/fit_setup.h"
#include "snug/train/room.h"

namespace snug {
namespace {

Variables variables_of(const StepGraph& step) {
  Variables variables;
  for (const auto& [variable, value] : step.variables) variables.push_back(variable);
  return variables;
}

// What the variables have of the budget is the runner's to count.
FitSetup planned(const StepGraph& step, int64_t rows, RunnerOptions options, const Budget& budget) {
  FitSetup setup;
  FitPlan& plan = setup.plan;
  plan.batch_size = rows;
  plan.budget_bytes = budget.bytes;
  plan.process_bytes = budget.process_bytes;
  plan.reserve_bytes =
      budget.reserve_bytes > 0 ? budget.reserve_bytes : estimated_reserve(*step.graph);
  options.budget_bytes = budget.bytes - plan.needed_bytes();
  options.wanted = budget.wanted;
  plan.weight_bytes = static_cast<int64_t>(state_bytes(variables_of(step)));
  plan.training = std::make_shared<Runner>(step, std::vector<int64_t>{rows}, options);
  plan.arena_bytes = static_cast<int64_t>(plan.training->arena_bytes());
  return setup;
}

}  // namespace

std::shared_ptr<Runner> plan_step(const StepGraph& step, int64_t rows, int64_t memory,
                                  RunnerOptions options) {
  const Variables variables = variables_of(step);
  const size_t held = state_bytes(variables) - allocation_bytes(variables);
  Budget budget = make_budget(memory, /*whole_process=*/false, static_cast<int64_t>(held));
  if (memory == 0) {
    options.budget_bytes = budget.for_run();
    return std::make_shared<Runner>(step, std::vector<int64_t>{rows}, options);
  }
  limit_to_machine(budget);
  budget.reserve_bytes = 0;  // Measured.
  const AloneScope alone;
  const PlanningScope once;
  const auto plan = [&](const Budget& tried) {
    return planned_in_room(tried, [&] { return planned(step, rows, options, tried); });
  };
  return compile_within(plan, budget, &alone).plan.training;
}

}  // namespace snug
