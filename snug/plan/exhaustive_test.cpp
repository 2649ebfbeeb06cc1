#include "snug/plan/exhaustive.h"

#include <gtest/gtest.h>

#include "snug/plan/bounds.h"
#include "snug/plan/random_problem.h"
#include "snug/plan/recompute.h"

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

}  // namespace
}  // namespace snug
