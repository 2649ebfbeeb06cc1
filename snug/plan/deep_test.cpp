#include "snug/plan/deep.h"

#include <gtest/gtest.h>

#include "snug/plan/exhaustive.h"
#include "snug/plan/random_problem.h"
#include "snug/plan/timeline.h"

namespace snug {
namespace {

DeepResult look(const UnitGraph& graph, int64_t limit, int64_t work = kDeepWork) {
  return search_deeply(graph, limit, work);
}

// Without and with results that may stand where an input stood.
TEST(Deep, FindsWhatExistsAndProvesWhatDoesNot) {
  int exist = 0, proven = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Problem problem = testing::training_chain(4, seed);
    for (ProblemNode& node : problem.nodes) {
      if (seed % 2 == 0) node.overwrites.clear();
      if (node.overwrites.size() > 1) node.overwrites.pop_back();
    }
    const UnitGraph graph(problem);
    const int64_t peak = Timeline(graph, graph.program()).peak();
    for (const int64_t limit : {peak * 9 / 10, peak * 7 / 10, peak * 6 / 10}) {
      const ExhaustiveResult truth = search_exhaustively(graph, limit);
      const DeepResult found = look(graph, limit);
      if (found.sequence) {
        EXPECT_LE(Timeline(graph, *found.sequence).peak(), limit) << "seed " << seed;
      }
      if (!truth.complete || !found.complete) continue;
      EXPECT_EQ(found.sequence.has_value(), truth.sequence.has_value()) << "seed " << seed;
      (truth.sequence ? exist : proven) += 1;
    }
  }
  EXPECT_GT(exist, 50);
  EXPECT_GT(proven, 10);
}

TEST(Deep, ChangesTheOrder) {
  const Problem problem = testing::two_branches();
  const UnitGraph graph(problem);
  const DeepResult found = look(graph, testing::kBranchAfterBranch);
  ASSERT_TRUE(found.sequence);
  EXPECT_LE(Timeline(graph, *found.sequence).peak(), testing::kBranchAfterBranch);
  const DeepResult none = look(graph, testing::kBranchAfterBranch - 1);
  EXPECT_TRUE(none.complete);
  EXPECT_FALSE(none.sequence);
}

// A unit of two results runs again for the second: its first one may stand over the input then,
// though there is an older copy of it.
TEST(Deep, WhatIsMadeAgainMayOverwriteAnInput) {
  Problem problem{.values = {{.bytes = 64, .given = true, .pinned = true},
                             {.bytes = 640},
                             {.bytes = 640},
                             {.bytes = 320},
                             {.bytes = 320},
                             {.bytes = 64, .pinned = true}},
                  .stages = {{}}};
  problem.nodes = {{.in = {0}, .out = {1}, .cost_ns = 1},
                   {.in = {1}, .out = {2, 3}, .overwrites = {{0, 0}}, .cost_ns = 1},
                   {.in = {1, 2}, .out = {4}, .cost_ns = 1},
                   {.in = {2, 3, 4}, .out = {5}, .cost_ns = 1}};
  const UnitGraph graph(problem);
  ASSERT_LE(Timeline(graph, {0, 1, 2, 1, 3}).peak(), 1664);
  EXPECT_TRUE(look(graph, 1664).sequence);
  EXPECT_TRUE(search_exhaustively(graph, 1664).sequence);
}

TEST(Deep, SaysNothingOfLargeProblemsNorAfterTooManyStates) {
  const Problem large = testing::training_chain(200, 1), small = testing::training_chain(20, 1);
  EXPECT_FALSE(look(UnitGraph(large), INT64_MAX).complete);
  EXPECT_FALSE(look(UnitGraph(small), 200'000, 1).complete);
}

}  // namespace
}  // namespace snug
