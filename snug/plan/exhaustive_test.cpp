#include "snug/plan/exhaustive.h"

#include <gtest/gtest.h>

#include "snug/plan/bounds.h"
#include "snug/plan/random_problem.h"
#include "snug/plan/recompute.h"
#include "snug/plan/squeezer.h"

namespace snug {
namespace {

// The heuristics against the truth: never better than it, seldom worse.
TEST(Exhaustive, RecomputeComesClose) {
  int trials = 0, optimal = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const Problem problem = testing::training_chain(3, seed);
    const UnitGraph graph(problem);
    const Timeline program(graph, graph.program());
    const int64_t floor = least_peak(program);
    for (const double share : {0.7, 0.3, 0.0}) {
      const auto limit =
          floor + static_cast<int64_t>(share * static_cast<double>(program.peak() - floor));
      const ExhaustiveResult truth = search_exhaustively(graph, limit);
      const auto found = recompute(graph, graph.program(), limit, Effort::full);
      if (!truth.complete) continue;
      if (!truth.sequence) {
        EXPECT_FALSE(found) << "seed " << seed << " at " << share;
        continue;
      }
      ++trials;
      EXPECT_LE(Timeline(graph, *truth.sequence).peak(), limit)
          << "seed " << seed << " at " << share;
      if (!found) continue;
      EXPECT_GE(graph.cost_ns(*found), graph.cost_ns(*truth.sequence) * 0.999999);
      optimal += graph.cost_ns(*found) <= graph.cost_ns(*truth.sequence) * 1.000001;
    }
  }
  EXPECT_GT(trials, 50);
  EXPECT_GE(optimal, trials * 8 / 10);
}

TEST(Exhaustive, MayChangeTheOrder) {
  const Problem problem = testing::two_branches();
  const UnitGraph graph(problem);
  const ExhaustiveResult result = search_exhaustively(graph, testing::kBranchAfterBranch);
  ASSERT_TRUE(result.sequence);
  EXPECT_EQ(result.sequence->size(), 5u);
  EXPECT_LE(Timeline(graph, *result.sequence).peak(), testing::kBranchAfterBranch);
  EXPECT_TRUE(search_exhaustively(graph, 64 + 640).complete);
  EXPECT_FALSE(search_exhaustively(graph, 64 + 640).sequence);
}

// Two branches whose ends are smaller than what they read, and stand in its place.
Problem shrinking_branches() {
  Problem problem{.values = {{.bytes = 64, .given = true, .pinned = true},
                             {.bytes = 640},
                             {.bytes = 640},
                             {.bytes = 320},
                             {.bytes = 320}},
                  .stages = {{}}};
  problem.nodes = {{.in = {0}, .out = {1}, .cost_ns = 1},
                   {.in = {0}, .out = {2}, .cost_ns = 1},
                   {.in = {1}, .out = {3}, .overwrites = {{0, 0}}, .cost_ns = 1},
                   {.in = {2}, .out = {4}, .overwrites = {{0, 0}}, .cost_ns = 1},
                   {.in = {3, 4}, .cost_ns = 1}};
  return problem;
}

TEST(Exhaustive, ASmallerResultMayStandInThePlaceOfALargerInput) {
  const Problem problem = shrinking_branches();
  const UnitGraph graph(problem);
  constexpr int64_t kOneAtATime = 64 + 320 + 640;
  EXPECT_TRUE(has_smaller_results(graph));
  EXPECT_TRUE(search_exhaustively(graph, kOneAtATime, Sharing::any).sequence);
  EXPECT_FALSE(search_exhaustively(graph, kOneAtATime - 1, Sharing::any).sequence);
  Squeezer squeezer(problem);
  EXPECT_FALSE(squeezer.is_impossible(kOneAtATime));
  EXPECT_TRUE(squeezer.is_impossible(kOneAtATime - 1));
  const std::optional<Plan> plan = squeezer.plan(kOneAtATime, Effort::thorough);
  ASSERT_TRUE(plan);
  validate(problem, *plan);
  EXPECT_EQ(plan->arena_bytes, kOneAtATime);
}

TEST(Exhaustive, SeveralResultsMayStandInThePlacesOfInputsAtOnce) {
  Problem problem{.values = {{.bytes = 64, .given = true, .pinned = true},
                             {.bytes = 640},
                             {.bytes = 640},
                             {.bytes = 640},
                             {.bytes = 640},
                             {.bytes = 64},
                             {.bytes = 640}},
                  .stages = {{}}};
  // The last one is made too early by the program: so that does not fit.
  problem.nodes = {{.in = {0}, .out = {6}, .cost_ns = 1},
                   {.in = {0}, .out = {1}, .cost_ns = 1},
                   {.in = {0}, .out = {2}, .cost_ns = 1},
                   {.in = {1, 2}, .out = {3, 4}, .overwrites = {{0, 0}, {1, 1}}, .cost_ns = 1},
                   {.in = {3, 4}, .out = {5}, .cost_ns = 1},
                   {.in = {5, 6}, .cost_ns = 1}};
  const UnitGraph graph(problem);
  constexpr int64_t kLimit = 64 + 640 + 640 + 64;
  const ExhaustiveResult result = search_exhaustively(graph, kLimit);
  ASSERT_TRUE(result.sequence);
  EXPECT_LE(Timeline(graph, *result.sequence).peak(), kLimit);
  EXPECT_FALSE(search_exhaustively(graph, kLimit - 1).sequence);
}

}  // namespace
}  // namespace snug
