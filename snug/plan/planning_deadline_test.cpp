#include "snug/plan/planning_deadline.h"

#include <gtest/gtest.h>

#include "snug/ops/ops.h"
#include "snug/plan/fit_budget.h"

namespace snug {
namespace {

// A step that does not fit.
void plan_tightly() {
  constexpr int kLayers = 6;
  Graph graph;
  Values layers = {graph.input("x", {DType::float32, {kRows, 8}})};
  for (int i = 0; i < kLayers; ++i) layers.push_back(ops::tanh(layers.back()));
  Value back = layers.back();
  for (int i = kLayers; i > 0; --i) back = ops::multiply(back, layers[i]);
  plan_within(graph, {ops::sum(back)}, 1024, {.threads = 2}, 1);
}

TEST(PlanningDeadline, BreaksASearchOff) {
  const PlanningDeadline passed(-1);
  EXPECT_THROW(plan_tightly(), OutOfTimeError);
}

TEST(PlanningDeadline, LeavesWhatIsInTime) {
  const PlanningDeadline passed(-1);
  {
    const PlanningDeadline later(1e6);
    EXPECT_THROW(plan_tightly(), StepBudgetError);
  }
  EXPECT_THROW(plan_tightly(), OutOfTimeError);
}

TEST(PlanningDeadline, EndsWithItsScope) {
  { const PlanningDeadline passed(-1); }
  EXPECT_THROW(plan_tightly(), StepBudgetError);
}

}  // namespace
}  // namespace snug
