#include "snug/plan/planning_notice.h"

#include <gtest/gtest.h>

#include "snug/ops/ops.h"
#include "snug/plan/fit_budget.h"

namespace snug {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

// A step that does not fit as it runs best, so that a plan is looked for.
void plan_tightly() {
  Graph graph;
  Value x = graph.input("x", {DType::float32, {kRows, 64}});
  Values layers = {x};
  for (int i = 0; i < 4; ++i) layers.push_back(ops::tanh(layers.back()));
  Value back = layers.back();
  for (int i = 4; i > 0; --i) back = ops::multiply(back, layers[i]);
  EXPECT_THROW(plan_within(graph, {ops::sum(back)}, 1024, {.threads = 2}, 1), StepBudgetError);
}

TEST(PlanningNotice, SaysOnceThatItTakesLong) {
  int said = 0;
  {
    const PlanningNotice notice([&] { ++said; }, milliseconds(0));
    EXPECT_EQ(said, 0);  // Nothing was looked for yet.
    plan_tightly();
    EXPECT_EQ(said, 1);
    plan_tightly();
  }
  plan_tightly();
  EXPECT_EQ(said, 1);
}

TEST(PlanningNotice, SaysNothingOfWhatIsQuick) {
  int said = 0;
  const PlanningNotice notice([&] { ++said; }, hours(1));
  plan_tightly();
  EXPECT_EQ(said, 0);
}

TEST(PlanningNotice, TheOutermostSpeaks) {
  int outer = 0, inner = 0;
  const PlanningNotice first([&] { ++outer; }, milliseconds(0));
  {
    const PlanningNotice second([&] { ++inner; }, milliseconds(0));
    plan_tightly();
  }
  EXPECT_EQ(outer, 1);
  EXPECT_EQ(inner, 0);
}

}  // namespace
}  // namespace snug
