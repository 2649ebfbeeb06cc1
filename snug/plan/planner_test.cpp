#include <gtest/gtest.h>

#include <string>

#include "snug/base/error.h"
#include "snug/plan/plan.h"
#include "snug/plan/random_problem.h"

namespace snug {
namespace {

TEST(Planner, RandomProblemsAreValid) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const Problem problem = testing::RandomProblem(seed).make();
    const Plan plan = make_plan(problem, kUnlimited);
    ASSERT_NO_THROW(validate(problem, plan)) << "seed " << seed;
    EXPECT_GE(plan.arena_bytes, plan.max_live_bytes);
    EXPECT_LE(plan.arena_bytes, plan.max_live_bytes * 11 / 10) << "seed " << seed;
  }
}

TEST(Planner, TrainingChainsReachTheBound) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const Problem problem = testing::training_chain(5 + static_cast<int>(seed) * 7, seed);
    const Plan plan = make_plan(problem, kUnlimited);
    validate(problem, plan);
    EXPECT_LE(plan.arena_bytes, plan.max_live_bytes * 102 / 100) << "seed " << seed;
  }
}

TEST(Planner, RefusesWithTheLeastBudget) {
  Problem problem = testing::training_chain(20, 1);
  problem.persistent_bytes = 1000;
  const Plan plan = make_plan(problem, kUnlimited);
  EXPECT_EQ(plan.total_bytes(), plan.arena_bytes + 1000);
  try {
    make_plan(problem, 2000);
    FAIL() << "accepted";
  } catch (const BudgetError& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("the budget is 2000"), std::string::npos) << message;
    EXPECT_NE(message.find("persistent 1000"), std::string::npos) << message;
    EXPECT_NE(message.find("largest: "), std::string::npos) << message;
    const std::string words = "the least budget that works is ";
    const int64_t least = std::stoll(message.substr(message.find(words) + words.size()));
    validate(problem, make_plan(problem, least));
    EXPECT_THROW(make_plan(problem, least * 98 / 100), BudgetError);
  }
}

double cost_of(const Problem& problem, const Plan& plan) {
  double cost = 0;
  for (const PlanStep& step : plan.steps) cost += problem.nodes[step.node].cost_ns;
  return cost;
}

TEST(Planner, SqueezedChainsAreValidAndWithinTheBudget) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    const Problem problem = testing::training_chain(20 + static_cast<int>(seed) * 5, seed);
    const Plan whole = make_plan(problem, kUnlimited);
    double last = cost_of(problem, whole);
    for (const int percent : {90, 70, 50}) {
      const int64_t budget = whole.total_bytes() * percent / 100;
      const Plan plan = make_plan(problem, budget);
      ASSERT_NO_THROW(validate(problem, plan)) << "seed " << seed << " at " << percent;
      EXPECT_LE(plan.total_bytes(), budget);
      EXPECT_GE(cost_of(problem, plan), last * 0.98) << "a lower budget does not cost less";
      last = cost_of(problem, plan);
    }
  }
}

TEST(Planner, SqueezedRandomProblemsAreValidOrRefused) {
  int squeezed = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Problem problem = testing::RandomProblem(seed).make();
    for (ProblemNode& node : problem.nodes) node.recomputable = true;
    const Plan whole = make_plan(problem, kUnlimited);
    const int64_t budget = problem.persistent_bytes + whole.arena_bytes * 85 / 100;
    try {
      const Plan plan = make_plan(problem, budget);
      ASSERT_NO_THROW(validate(problem, plan)) << "seed " << seed;
      EXPECT_LE(plan.total_bytes(), budget);
      ++squeezed;
    } catch (const BudgetError&) {
    }
  }
  EXPECT_GT(squeezed, 10);
}

TEST(Planner, EmptyProblem) {
  const Problem problem;
  const Plan plan = make_plan(problem, 0);
  validate(problem, plan);
  EXPECT_EQ(plan.arena_bytes, 0);
}

TEST(Planner, IsDeterministic) {
  const Problem problem = testing::RandomProblem(17).make();
  const Plan a = make_plan(problem, kUnlimited), b = make_plan(problem, kUnlimited);
  ASSERT_EQ(a.buffers.size(), b.buffers.size());
  for (size_t i = 0; i < a.buffers.size(); ++i) EXPECT_EQ(a.buffers[i].offset, b.buffers[i].offset);
}

TEST(Planner, LanesCountOncePerLane) {
  Problem problem{.values = {{.bytes = 1024, .part_bytes = 256, .given = true},
                             {.bytes = 1024, .part_bytes = 256},
                             {.bytes = 64, .pinned = true}},
                  .stages = {{.parts = 4, .lanes = 2}}};
  problem.nodes = {{.in = {0}, .out = {1}, .scratch_bytes = 65}, {.in = {1}, .out = {2}}};
  const Plan plan = make_plan(problem, kUnlimited);
  validate(problem, plan);
  EXPECT_EQ(plan.stages[0].lane_bytes, 256 + 128);
  EXPECT_EQ(plan.arena_bytes, 1024 + 64 + 2 * (256 + 128));
}

}  // namespace
}  // namespace snug
