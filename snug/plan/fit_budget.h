// A step made to fit: which way of cutting its rows, and what is computed again, takes the least
// time within the budget.
#pragma once

#include <functional>
#include <string>

#include "snug/base/error.h"
#include "snug/plan/instantiate.h"
#include "snug/plan/plan.h"

namespace snug {

struct PlannedStep {
  Instance instance;
  Plan plan;
  PartitionOptions cut;   // How its rows are cut: it decides the bits of sums over rows.
  bool is_rough = false;  // Of a long step: the fastest was not looked for.
};

// fastest: the least predicted time within a budget. any: the same, but of a long step the first
// that is found. smallest: the fewest bytes with those that a program keeps for its steps, whatever
// the budget.
enum class Wanted { fastest, any, smallest };

// The budget is too small for the step.
class StepBudgetError : public BudgetError {
 public:
  StepBudgetError(int64_t least_bytes, int64_t budget_bytes);
  // The least budget that works: at two hundredths less there is no plan.
  int64_t least_bytes() const { return least_bytes_; }
  // What the budget lacks.
  int64_t missing_bytes() const { return least_bytes_ - budget_bytes_; }

 private:
  int64_t least_bytes_, budget_bytes_;
};

// What the costs of this machine are; asked only when the budget binds.
using CostSource = std::function<CostModel()>;

// The plan with the least predicted time within the budget (arena and variables), over all ways of
// cutting the rows: as they run best, in parts of fewer rows side by side, or one after the other,
// or node by node on all rows; each with values computed again where that is needed. A step that
// fits as it runs best is taken as it is, with all rows of the batch in their slots; otherwise
// those that can be fed are, where that helps. Without `costs`, those of `options` hold. Throws
// StepBudgetError.
PlannedStep plan_within(const Graph& graph, const Values& results, int64_t rows,
                        const Target& target, int64_t budget_bytes,
                        const InstantiateOptions& options = {}, const CostSource& costs = {},
                        Wanted wanted = Wanted::fastest);

// The least predicted time at a budget.
struct CurvePoint {
  int64_t budget_bytes = 0;  // Of the arena and the variables.
  double step_ns = 0;
  int64_t part_rows = 0;      // Of a micro-batch; 0: none.
  int again = 0;              // Nodes computed again.
  int64_t spilled_bytes = 0;  // Written to the file in a step, and read again.
  bool node_by_node = false;
};

// While it lives, what a search of this thread has found of a step is kept for the next budget that
// is tried for it. It saves time and changes no plan.
class PlanningScope {
 public:
  PlanningScope();
  ~PlanningScope();
  PlanningScope(const PlanningScope&) = delete;
  PlanningScope& operator=(const PlanningScope&) = delete;

  // How often this thread has looked for the least plan of a step.
  static int least_searches();
  // The next budget is tried as the first one is.
  static void forget();

 private:
  PlanningScope* outer_;
};

}  // namespace snug
