#include "snug/plan/squeezer.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "snug/plan/layout.h"
#include "snug/plan/random_problem.h"

namespace snug {
namespace {

TEST(Squeezer, HoldsTheCapacityAndIsValid) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    const Problem problem = testing::RandomProblem(seed).make();
    Squeezer squeezer(problem);
    const int64_t free = squeezer.free_plan().arena_bytes, least = squeezer.least_bytes();
    for (const double share : {1.0, 0.7, 0.4, 0.1}) {
      const auto capacity = least + static_cast<int64_t>(share * static_cast<double>(free - least));
      const std::optional<Plan> plan = squeezer.plan(capacity, Effort::full);
      if (!plan) continue;
      EXPECT_LE(plan->arena_bytes, capacity);
      validate(problem, *plan);
      EXPECT_GE(predicted_ns(problem, *plan), predicted_ns(problem, squeezer.free_plan()));
    }
  }
}

// So small that the best sequence is known, and so tight that it takes much longer than the
// program.
TEST(Squeezer, ADearPlanOfASmallProblem) {
  int dear = 0;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const Problem problem = testing::training_chain(3, seed);
    Squeezer squeezer(problem);
    const int64_t least = squeezer.least_bytes(), free = squeezer.free_plan().arena_bytes;
    for (int64_t capacity = least; capacity < free; capacity += 1 + (free - least) / 5) {
      const auto plan = squeezer.plan(capacity, Effort::thorough);
      if (!plan) continue;
      validate(problem, *plan);
      dear += predicted_ns(problem, *plan) > 1.2 * predicted_ns(problem, squeezer.free_plan());
    }
  }
  EXPECT_GT(dear, 0);
}

TEST(Squeezer, FindsNothingBelowTheLeastBytes) {
  const Problem problem = testing::training_chain(20, 3);
  Squeezer squeezer(problem);
  EXPECT_FALSE(squeezer.plan(squeezer.least_bytes() - 1, Effort::full));
}

TEST(Squeezer, WhatIsFoundQuicklyIsFoundWithCare) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    const Problem problem = testing::training_chain(24, seed);
    Squeezer squeezer(problem);
    const int64_t free = squeezer.free_plan().arena_bytes;
    for (const int64_t capacity : {free * 8 / 10, free * 5 / 10, free * 3 / 10}) {
      const auto quick = squeezer.plan(capacity, Effort::quick);
      const auto full = squeezer.plan(capacity, Effort::full);
      ASSERT_LE(quick.has_value(), full.has_value());
      if (!quick) continue;
      EXPECT_LE(predicted_ns(problem, *full), predicted_ns(problem, *quick));
      EXPECT_GE(predicted_ns(problem, *full), 0.999 * squeezer.least_cost_ns(capacity));
    }
  }
}

TEST(Squeezer, TheLeastBudgetIsTheLeastOfAllWays) {
  std::vector<Problem> problems = {testing::training_chain(8, 1), testing::training_chain(8, 2)};
  for (Problem& problem : problems) problem.persistent_bytes = 1000;
  std::vector<Squeezer> ways;
  for (const Problem& problem : problems) ways.emplace_back(problem);
  const LeastPlan found = least_plans(ways).least;
  const int64_t least = found.budget_bytes;
  validate(problems[found.way], found.plan);
  EXPECT_LE(found.plan.total_bytes(), least);
  const auto works = [&](int64_t budget) {
    return ways[0].plan(budget - 1000, Effort::full) || ways[1].plan(budget - 1000, Effort::full);
  };
  EXPECT_TRUE(works(least));
  EXPECT_FALSE(works(least * 98 / 100));
  // A search that is no proof may find a little less alone.
  EXPECT_LE(least * 96 / 100, least_plans({&ways[0], 1}).least.budget_bytes);
  EXPECT_LE(least * 96 / 100, least_plans({&ways[1], 1}).least.budget_bytes);
}

// Of a graph whose units are all pure: any of them next that can run, some of them again.
std::vector<int> random_sequence(const UnitGraph& graph, testing::RandomProblem& dice) {
  std::vector<int> sequence;
  std::vector<char> made = graph.given, ran(graph.units.size(), 0);
  for (int left = graph.program_size; left > 0;) {
    const int u = dice.pick(0, graph.program_size - 1);
    const Unit& unit = graph.units[u];
    const auto is_made = [&](int v) { return made[v] != 0; };
    if ((ran[u] && dice.pick(0, 3) > 0) || !std::ranges::all_of(unit.in, is_made)) continue;
    sequence.push_back(u);
    for (const int v : unit.out) made[v] = 1;
    left -= ran[u] ? 0 : 1;
    ran[u] = 1;
  }
  return sequence;
}

// Plans that know nothing of the proofs, in all orders and with results in all places that they may
// have.
TEST(Squeezer, WhatHasAPlanIsNotImpossible) {
  int tight = 0;
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    Problem problem = testing::RandomProblem(seed).make();
    if (problem.nodes.size() > 12) continue;
    for (ProblemNode& node : problem.nodes) node.recomputable = true;
    Squeezer squeezer(problem);
    const UnitGraph graph(problem);
    testing::RandomProblem dice(seed);
    int64_t lowest = INT64_MAX;
    for (int i = 0; i < 30; ++i) {
      const std::vector<int> sequence = random_sequence(graph, dice);
      const Plan plan = lay_out(problem, graph.schedule(sequence), kUnlimited, Aim::lowest);
      validate(problem, plan);
      lowest = std::min(lowest, plan.arena_bytes);
    }
    EXPECT_FALSE(squeezer.is_impossible(lowest)) << "seed " << seed;
    tight += squeezer.is_impossible(lowest * 9 / 10) ? 1 : 0;
  }
  EXPECT_GT(tight, 50);
}

}  // namespace
}  // namespace snug
