#include "snug/plan/recipe.h"

#include "snug/base/error.h"
#include "snug/plan/layout.h"
#include "snug/plan/transfers.h"

namespace snug {
namespace {

Schedule schedule_of(const Problem& problem, const Recipe& recipe) {
  Schedule schedule;
  size_t step = 0;
  for (const int end : recipe.ends) {
    schedule.push_back({problem.nodes[recipe.nodes[step]].stage, {}});
    for (; step < static_cast<size_t>(end); ++step)
      schedule.back().nodes.push_back(recipe.nodes[step]);
  }
  return schedule;
}

}  // namespace

Recipe recipe_of(const Plan& plan, int64_t capacity) {
  Recipe recipe{.transfers = plan.transfers,
                .file_bytes = plan.file_bytes,
                .capacity = capacity,
                .arena_bytes = plan.arena_bytes};
  recipe.nodes.reserve(plan.steps.size());
  for (const PlanStep& step : plan.steps) recipe.nodes.push_back(step.node);
  recipe.ends.reserve(plan.stages.size());
  for (const PlanStage& stage : plan.stages) recipe.ends.push_back(stage.last_step);
  return recipe;
}

Plan plan_of(const Problem& problem, const Recipe& recipe) {
  const Problem carried_out = with_transfers(problem, recipe.transfers);
  const Schedule schedule = schedule_of(carried_out, recipe);
  for (const Aim aim : {Aim::quickly, Aim::capacity, Aim::lowest}) {
    Plan plan = lay_out(carried_out, schedule, recipe.capacity, aim);
    if (plan.arena_bytes != recipe.arena_bytes) continue;
    plan.transfers = recipe.transfers;
    plan.file_bytes = recipe.file_bytes;
    return plan;
  }
  throw InternalError("a plan of {} bytes could not be made again", recipe.arena_bytes);
}

}  // namespace snug
