#include "snug/plan/fit_budget.h"

#include "snug/base/bytes.h"
#include "snug/base/error.h"

namespace snug {
namespace {

// The ways to cut `rows`, fastest first.
std::vector<PartitionOptions> ways(int64_t rows, const Target& target,
                                   const PartitionOptions& first) {
  std::vector<PartitionOptions> all = {first};
  if (!first.parts || first.forced_part_rows > 0) return all;
  for (int64_t part = (rows + 1) / 2; part >= 1; part = part == 1 ? 0 : (part + 1) / 2) {
    for (const bool one_lane : {false, true}) {
      if (!one_lane && target.threads == 1) continue;
      PartitionOptions way = first;
      way.forced_part_rows = part;
      way.one_lane = one_lane;
      all.push_back(way);
    }
  }
  return all;
}

}  // namespace

PlannedStep plan_within(const Graph& graph, const Values& results, int64_t rows,
                        const Target& target, int64_t budget_bytes,
                        const InstantiateOptions& options) {
  int64_t least = kUnlimited;
  for (const PartitionOptions& way : ways(rows, target, options.partition)) {
    InstantiateOptions cut = options;
    cut.partition = way;
    Instance instance = instantiate(graph, results, rows, target, cut);
    Plan plan = make_plan(instance.problem, kUnlimited);
    if (plan.total_bytes() <= budget_bytes) {
      return {std::move(instance), std::move(plan), way.forced_part_rows};
    }
    least = std::min(least, plan.total_bytes());
  }
  throw BudgetError(
      "the step needs {} at least, but {} are left of the budget for it; {} more would do",
      bytes_text(least, Rounding::up), bytes_text(budget_bytes),
      bytes_text(least - budget_bytes, Rounding::up));
}

}  // namespace snug
