#include "snug/plan/beam.h"

#include <gtest/gtest.h>

#include "snug/plan/exhaustive.h"
#include "snug/plan/random_problem.h"
#include "snug/plan/timeline.h"

namespace snug {
namespace {

TEST(Beam, FindsWhereThereIsSomethingAndHoldsTheLimit) {
  int exist = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Problem problem = testing::training_chain(4, seed);
    for (ProblemNode& node : problem.nodes) {
      node.recomputable = true;
      node.overwrites.clear();
    }
    const UnitGraph graph(problem);
    const int64_t peak = Timeline(graph, graph.program()).peak();
    for (const int64_t limit : {peak * 9 / 10, peak * 7 / 10}) {
      const ExhaustiveResult truth = search_exhaustively(graph, limit);
      const auto found = search_widely(graph, limit);
      if (found) {
        EXPECT_LE(Timeline(graph, *found).peak(), limit) << "seed " << seed;
      }
      if (!truth.complete) continue;
      EXPECT_EQ(found.has_value(), truth.sequence.has_value()) << "seed " << seed;
      exist += truth.sequence.has_value();
    }
  }
  EXPECT_GT(exist, 20);
}

TEST(Beam, LeavesLargeProblems) {
  const Problem problem = testing::training_chain(200, 1);
  EXPECT_FALSE(search_widely(UnitGraph(problem), INT64_MAX));
}

}  // namespace
}  // namespace snug
