#include "snug/plan/fit_budget.h"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "snug/autodiff/gradients.h"
#include "snug/ops/ops.h"
#include "snug/plan/squeezer.h"
#include "snug/testing/sanitized.h"

namespace snug {
namespace {

constexpr int64_t kBatch = 256;
constexpr Target kTarget{.threads = 2};

// A step with its loss and the update of its weights.
struct TestStep {
  Graph graph;
  Values weights;
  Value loss;

  Value weight(const Shape& shape) {
    weights.push_back(
        graph.variable("w" + std::to_string(weights.size()), {DType::float32, shape}));
    return weights.back();
  }
  Value dense(Value x, int64_t units) { return ops::matmul(x, weight({x.shape()[-1], units})); }
  Value normed(Value x) {
    const int64_t channels = x.shape()[-1];
    const Value mean = graph.variable("mean", {DType::float32, {channels}});
    const Value variance = graph.variable("variance", {DType::float32, {channels}});
    return ops::batch_norm_training(x, mean, variance,
                                    {.gamma = weight({channels}), .beta = weight({channels})});
  }
  void finish(Value y) {
    loss = ops::sum(ops::multiply(y, y));
    const Values gradients = snug::gradients(loss, weights);
    for (size_t i = 0; i < weights.size(); ++i)
      ops::assign_add(weights[i], ops::multiply_scalar(gradients[i], -1e-3F));
  }
  PlannedStep plan(int64_t budget, Wanted wanted = Wanted::fastest) {
    PlannedStep planned = plan_within(graph, {loss}, kBatch, kTarget, budget, {}, {}, wanted);
    validate(planned.instance.problem, planned.plan);
    return planned;
  }
  int64_t least() {
    try {
      plan(1);
    } catch (const StepBudgetError& error) {
      EXPECT_EQ(error.missing_bytes(), error.least_bytes() - 1);
      return error.least_bytes();
    }
    ADD_FAILURE() << "one byte was enough";
    return 0;
  }
};

// Rows that know nothing of each other.
void build_plain(TestStep& step) {
  Value x = step.graph.input("x", {DType::float32, {kRows, 40}});
  for (int i = 0; i < 4; ++i) x = ops::tanh(step.dense(x, 40));
  step.finish(x);
}

// Batch norm after every layer: no row without the others.
void build_coupled(TestStep& step) {
  Value x = step.graph.input("x", {DType::float32, {kRows, 100}});
  for (int i = 0; i < 6; ++i) x = ops::relu(step.normed(step.dense(x, 24)));
  for (int i = 0; i < 3; ++i) x = ops::tanh(step.normed(ops::multiply_scalar(x, 2)));
  step.finish(x);
}

TEST(FitBudget, TakesAStepThatFitsAsItIs) {
  TestStep step;
  build_plain(step);
  const PlannedStep free = step.plan(kUnlimited);
  EXPECT_EQ(free.cut.forced_part_rows, 0);
  EXPECT_EQ(free.plan.steps.size(), free.instance.problem.nodes.size());
  const PlannedStep just = step.plan(free.plan.total_bytes());
  EXPECT_EQ(just.plan.arena_bytes, free.plan.arena_bytes);
}

TEST(FitBudget, AsksForTheCostsOnlyWhenTheBudgetBinds) {
  TestStep step;
  build_plain(step);
  int asked = 0;
  const CostSource costs = [&] {
    ++asked;
    return CostModel{};
  };
  const PlannedStep free =
      plan_within(step.graph, {step.loss}, kBatch, kTarget, kUnlimited, {}, costs);
  EXPECT_EQ(asked, 0);
  plan_within(step.graph, {step.loss}, kBatch, kTarget, free.plan.total_bytes() - 64, {}, costs);
  EXPECT_EQ(asked, 1);
}

TEST(FitBudget, CutsRowsThatKnowNothingOfEachOther) {
  TestStep step;
  build_plain(step);
  const PlannedStep tight = step.plan(step.least());
  EXPECT_GT(tight.cut.forced_part_rows, 0);
  EXPECT_GT(tight.plan.step_ns, tight.plan.fastest_ns);
  EXPECT_LE(tight.plan.least_ns, tight.plan.step_ns);
}

TEST(FitBudget, TheLeastIsTheLeast) {
  for (void (*build)(TestStep&) : {build_plain, build_coupled}) {
    TestStep step;
    build(step);
    const int64_t least = step.least();
    EXPECT_LE(step.plan(least).plan.total_bytes(), least);
    EXPECT_THROW(step.plan(least * 98 / 100), StepBudgetError);
  }
}

TEST(FitBudget, IsAPureFunction) {
  TestStep step;
  build_coupled(step);
  const int64_t least = step.least();
  const int64_t budget = (least + step.plan(kUnlimited).plan.total_bytes()) / 2;
  const PlannedStep one = step.plan(budget), other = step.plan(budget);
  ASSERT_EQ(one.plan.steps.size(), other.plan.steps.size());
  for (size_t i = 0; i < one.plan.steps.size(); ++i)
    EXPECT_EQ(one.plan.steps[i].node, other.plan.steps[i].node);
  ASSERT_EQ(one.plan.buffers.size(), other.plan.buffers.size());
  for (size_t i = 0; i < one.plan.buffers.size(); ++i)
    EXPECT_EQ(one.plan.buffers[i].offset, other.plan.buffers[i].offset);
}

TEST(FitBudget, MoreMemoryIsNeverMuchSlower) {
  for (void (*build)(TestStep&) : {build_plain, build_coupled}) {
    TestStep step;
    build(step);
    constexpr int kPoints = 8;
    const int64_t least = step.least(), most = step.plan(kUnlimited).plan.total_bytes();
    double before = HUGE_VAL;
    // The last is as it runs best, whatever is predicted for it.
    for (int i = 0; i < kPoints; ++i) {
      const double ns = step.plan(least + (most - least) * i / kPoints).plan.step_ns;
      EXPECT_LE(ns, 1.1 * before);
      before = ns;
    }
  }
}

TEST(FitBudget, ARefusalSaysWhatIsMissing) {
  const StepBudgetError error(3 << 20, 1 << 20);
  EXPECT_STREQ(
      error.what(),
      "the step needs 3.0 MiB at least, but 1.0 MiB are left of the budget for it; 2.0 MiB "
      "more would do");
  EXPECT_EQ(error.exit_code(), 3);
}

// Long enough to be planned quickly.
void build_long(TestStep& step) {
  Value x = step.graph.input("x", {DType::float32, {kRows, 8}});
  for (int i = 0; i < 120; ++i) x = ops::tanh(step.dense(x, 8));
  step.finish(x);
}

void expect_same(const PlannedStep& one, const PlannedStep& other) {
  EXPECT_EQ(one.plan.arena_bytes, other.plan.arena_bytes);
  EXPECT_EQ(one.plan.step_ns, other.plan.step_ns);
  EXPECT_EQ(one.cut.forced_part_rows, other.cut.forced_part_rows);
  ASSERT_EQ(one.plan.steps.size(), other.plan.steps.size());
  for (size_t i = 0; i < one.plan.steps.size(); ++i)
    EXPECT_EQ(one.plan.steps[i].node, other.plan.steps[i].node);
}

// Whatever the budget is: within the least, or a little above it with fewer steps.
TEST(FitBudget, TheSmallestIsTheLightestWithItsSteps) {
  for (void (*build)(TestStep&) : {build_plain, build_coupled, build_long}) {
    TestStep step;
    build(step);
    const int64_t least = step.least();
    const auto bytes = [](const PlannedStep& planned) {
      return planned.plan.total_bytes() + std::ssize(planned.plan.steps) * kBytesOfAStep;
    };
    const PlannedStep smallest = step.plan(1, Wanted::smallest);
    EXPECT_LE(bytes(smallest), bytes(step.plan(least)) * 104 / 100);
    EXPECT_LE(bytes(smallest), bytes(step.plan(kUnlimited)));
    expect_same(smallest, step.plan(kUnlimited, Wanted::smallest));
  }
}

TEST(FitBudget, AnyPlanOfALongStepFitsAndIsCalledRough) {
  for (void (*build)(TestStep&) : {build_coupled, build_long}) {
    TestStep step;
    build(step);
    const int64_t least = step.least(), most = step.plan(kUnlimited).plan.total_bytes();
    const int64_t budget = least + (most - least) / 4;
    const PlanningScope once;
    const PlannedStep any = step.plan(budget, Wanted::any), fastest = step.plan(budget);
    EXPECT_EQ(any.is_rough, build == build_long);
    EXPECT_FALSE(fastest.is_rough);
    EXPECT_LE(any.plan.total_bytes(), budget);
    EXPECT_LE(fastest.plan.step_ns, any.plan.step_ns);
    // Whose kernels are known to fit.
    const PlannedStep again = step.plan(budget, Wanted::any);
    EXPECT_EQ(again.is_rough, any.is_rough);
    expect_same(any, again);
  }
}

// Sixteenths between the least and the most. Under a sanitizer, which takes its time, fewer.
const std::vector<int> kParts =
    testing::kSanitized ? std::vector{8, 8} : std::vector{8, 1, 4, 1, 0};

// A budget that a search names is met by a process that knows nothing of the search.
TEST(PlanningScope, WhatIsKnownChangesNoPlan) {
  for (void (*build)(TestStep&) : {build_plain, build_coupled, build_long}) {
    TestStep step;
    build(step);
    const PlanningScope once;
    const int64_t least = step.least(), most = step.plan(kUnlimited).plan.total_bytes();
    for (const int part : kParts) {
      const int64_t budget = least + (most - least) * part / 16;
      const PlannedStep known = step.plan(budget);
      std::optional<PlannedStep> alone;
      std::thread([&] { alone = step.plan(budget); }).join();  // What is known is a thread's.
      expect_same(known, *alone);
    }
  }
}

// What a transfer takes before its first byte decides what is worth it, as the speeds do.
TEST(PlanningScope, WhatIsKnownIsOfOneDisk) {
  TestStep step;
  build_coupled(step);
  const PlanningScope once;
  const int before = PlanningScope::least_searches();
  for (const double start_ns : {1e3, 1e9}) {
    InstantiateOptions options;
    options.spill = {.allowed = true};
    options.costs.disk.start_ns = start_ns;
    EXPECT_THROW(plan_within(step.graph, {step.loss}, kBatch, kTarget, 1, options),
                 StepBudgetError);
  }
  EXPECT_EQ(PlanningScope::least_searches() - before, 2);
}

// How much room the disk has is another figure at every look.
TEST(PlanningScope, WhatIsKnownIsKnownHoweverLargeTheDiskIs) {
  TestStep step;
  build_coupled(step);
  const PlanningScope once;
  const auto least = [&](int64_t room) {
    InstantiateOptions options;
    options.spill = {.allowed = true, .most_bytes = room};
    try {
      plan_within(step.graph, {step.loss}, kBatch, kTarget, 1, options);
    } catch (const StepBudgetError& error) {
      return error.least_bytes();
    }
    return int64_t{0};
  };
  const int before = PlanningScope::least_searches();
  const int64_t first = least(int64_t{1} << 40);
  EXPECT_EQ(least((int64_t{1} << 40) - 4096), first);
  EXPECT_EQ(PlanningScope::least_searches() - before, 1);
}

}  // namespace
}  // namespace snug
