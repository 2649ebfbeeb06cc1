// The planner on random problems: what it promises for all of them, and for small ones against the
// truth. SNUG_PROBLEMS=2000 runs the long form.

#include <gtest/gtest.h>

#include <cstdlib>

#include "snug/plan/bounds.h"
#include "snug/plan/squeezer.h"
#include "tests/plan/least_time.h"
#include "tests/plan/random_steps.h"

namespace snug {
namespace {

using testing::Truth;

int problem_count(int otherwise) {
  const char* count = std::getenv("SNUG_PROBLEMS");
  return count ? std::atoi(count) : otherwise;
}

constexpr double kShares[] = {0.0, 0.2, 0.5};

int64_t between(int64_t floor, int64_t peak, double share) {
  return floor + static_cast<int64_t>(share * static_cast<double>(peak - floor));
}

// What was seen over many problems.
struct Tally {
  int asked = 0, found = 0, optimal = 0, missed = 0, far = 0, unknown = 0;
};

void compare(const Problem& problem, int64_t limit, Tally& tally) {
  Squeezer squeezer(problem);
  const std::optional<Plan> plan = squeezer.plan(limit, Effort::thorough);
  const Truth truth = testing::least_time(problem, limit);
  if (plan) {
    validate(problem, *plan);
    EXPECT_LE(plan->arena_bytes, limit);
  }
  if (!truth.complete) {
    ++tally.unknown;
    return;
  }
  ++tally.asked;
  EXPECT_FALSE(plan && !truth.least_ns) << "a plan where there is none";
  EXPECT_FALSE(truth.least_ns && squeezer.is_impossible(limit)) << "a proof that is none";
  if (!truth.least_ns) return;
  EXPECT_LE(squeezer.least_cost_ns(limit), *truth.least_ns * 1.000001 + 1e-6);
  const UnitGraph graph(problem);
  EXPECT_LE(least_cost_ns(graph, limit), *truth.least_ns * 1.000001 + 1e-6);
  EXPECT_LE(least_bytes(graph), limit);
  if (!plan) {
    ++tally.missed;
    return;
  }
  const double ns = predicted_ns(problem, *plan);
  EXPECT_GE(ns, *truth.least_ns * 0.999999);
  ++tally.found;
  tally.optimal += ns <= *truth.least_ns * 1.000001 + 1e-6;
  tally.far += ns > *truth.least_ns * 1.1 + 1e-6;
}

Problem small_problem(uint64_t seed) {
  if (seed % 2 == 0) return testing::random_graph(seed, 1 + static_cast<int>(seed / 2 % 12));
  Problem problem = testing::random_step(seed, 1 + static_cast<int>(seed / 2 % 5));
  return problem.nodes.size() <= 12 ? problem : testing::random_step(seed, 2);
}

TEST(Problems, SmallOnesAgainstTheTruth) {
  Tally tally;
  for (int i = 0; i < problem_count(40); ++i) {
    const Problem problem = small_problem(i);
    const int64_t floor = testing::floor_of(problem), peak = testing::peak_of(problem);
    for (const double share : kShares) {
      SCOPED_TRACE(fmt::format("problem {} at {}", i, share));
      compare(problem, between(floor, peak, share), tally);
    }
  }
  fmt::print("{} budgets: {} plans, {} of them the best, {} not found; {} not known\n", tally.asked,
             tally.found, tally.optimal, tally.missed, tally.unknown);
  EXPECT_EQ(tally.missed, 0) << "of " << tally.asked;
  EXPECT_EQ(tally.far, 0) << "of " << tally.found;
  EXPECT_GE(tally.optimal, tally.found * 9 / 10) << "of " << tally.found;
  EXPECT_LE(tally.unknown, tally.asked / 20);
}

// There are steps without a plan at 1.3 times the floor: what a small one lacks must not exist.
void report_missing(const Problem& problem, int number, int64_t limit) {
  const bool impossible = Squeezer(problem).is_impossible(limit);
  fmt::print("problem {}: {} nodes, {} at {}\n", number, problem.nodes.size(),
             impossible ? "proven that there is nothing" : "nothing found", limit);
  if (problem.nodes.size() > 32 || problem.values.size() > 32) return;
  const Truth truth = testing::least_time(problem, limit);
  EXPECT_FALSE(truth.complete && truth.least_ns) << "problem " << number << " has a plan";
  EXPECT_TRUE(impossible || !truth.complete) << "problem " << number << " has no plan";
}

TEST(Problems, PlansOfStepsAreValidAndFoundAtTheFloorAndAThird) {
  int found = 0, asked = 0;
  for (int i = 0; i < problem_count(40); ++i) {
    const Problem problem = testing::random_step(i, 2 + i % 30);
    const int64_t floor = testing::floor_of(problem), peak = testing::peak_of(problem);
    for (const int64_t limit :
         {floor * 13 / 10, between(floor, peak, 0.2), between(floor, peak, 0.5)}) {
      SCOPED_TRACE(fmt::format("problem {} with {} bytes", i, limit));
      Squeezer squeezer(problem);
      const std::optional<Plan> plan = squeezer.plan(limit, Effort::thorough);
      if (limit == floor * 13 / 10) {
        ++asked;
        found += plan.has_value();
        if (!plan) report_missing(problem, i, limit);
      }
      if (!plan) continue;
      validate(problem, *plan);
      EXPECT_LE(plan->arena_bytes, limit);
      EXPECT_GE(predicted_ns(problem, *plan), squeezer.least_cost_ns(limit) * 0.999999);
    }
  }
  fmt::print("at 1.3 times the floor: {} of {}\n", found, asked);
  EXPECT_GE(found, asked * 97 / 100);
}

TEST(Problems, WhatOnlyALookAtAllSequencesFinds) {
  const Problem problem = testing::random_step(426, 8);
  const int64_t limit = testing::floor_of(problem) * 13 / 10;
  const std::optional<Plan> plan = Squeezer(problem).plan(limit, Effort::thorough);
  ASSERT_TRUE(plan);
  validate(problem, *plan);
  EXPECT_LE(plan->arena_bytes, limit);
}

// Of 42 nodes, where the truth of small problems has nothing to say.
TEST(Problems, WhatIsImpossibleIsProven) {
  const Problem problem = testing::random_step(642, 14);
  Squeezer squeezer(problem);
  EXPECT_TRUE(squeezer.is_impossible(testing::floor_of(problem) * 13 / 10));
  EXPECT_FALSE(squeezer.is_impossible(testing::peak_of(problem) - 1));
}

TEST(Problems, PlansOfAnyGraphAreValid) {
  int found = 0, asked = 0, proven = 0;
  for (int i = 0; i < problem_count(40); ++i) {
    const Problem problem = testing::random_graph(i, 13 + i % 90);
    const int64_t floor = testing::floor_of(problem), peak = testing::peak_of(problem);
    for (const double share : kShares) {
      SCOPED_TRACE(fmt::format("problem {} at {}", i, share));
      const int64_t limit = between(floor, peak, share);
      Squeezer squeezer(problem);
      const std::optional<Plan> plan = squeezer.plan(limit, Effort::thorough);
      ++asked;
      if (!plan) proven += squeezer.is_impossible(limit);
      if (!plan) continue;
      ++found;
      validate(problem, *plan);
      EXPECT_FALSE(squeezer.is_impossible(limit));
      EXPECT_LE(plan->arena_bytes, limit);
      EXPECT_GE(predicted_ns(problem, *plan), squeezer.least_cost_ns(limit) * 0.999999);
    }
  }
  fmt::print("of any graph: {} of {}, {} of the others proven to have none\n", found, asked,
             proven);
}

}  // namespace
}  // namespace snug
