#include "snug/plan/recompute.h"

#include <gtest/gtest.h>

#include "snug/plan/bounds.h"
#include "snug/plan/random_problem.h"

namespace snug {
namespace {

TEST(Recompute, HoldsTheLimitAndTheBoundHolds) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Problem problem = testing::training_chain(30, seed);
    const UnitGraph graph(problem);
    const Timeline program(graph, graph.program());
    const int64_t floor = least_peak(program);
    for (const double share : {0.8, 0.5, 0.2}) {
      const auto limit =
          floor + static_cast<int64_t>(share * static_cast<double>(program.peak() - floor));
      const auto sequence = recompute(graph, graph.program(), limit, Effort::full);
      ASSERT_TRUE(sequence) << "seed " << seed << " at " << share;
      EXPECT_LE(Timeline(graph, *sequence).peak(), limit);
      const double bound = least_cost_ns(graph, limit);
      EXPECT_LE(bound, graph.cost_ns(*sequence) * 1.000001);
      EXPECT_GE(bound, graph.cost_ns(graph.program()));
      EXPECT_LE(graph.cost_ns(*sequence), 1.5 * bound) << "seed " << seed << " at " << share;
    }
  }
}

TEST(Recompute, NothingWhereEverythingFits) {
  const Problem problem = testing::training_chain(10, 1);
  const UnitGraph graph(problem);
  const Timeline program(graph, graph.program());
  EXPECT_EQ(*recompute(graph, graph.program(), program.peak(), Effort::full), graph.program());
  EXPECT_DOUBLE_EQ(least_cost_ns(graph, program.peak()), graph.cost_ns(graph.program()));
}

// x -> a -> b -> c, and c's reader wants a again: a is cheap, so it is dropped and not b.
TEST(Recompute, DropsTheCheapOne) {
  Problem problem{.values = {{.bytes = 64, .given = true, .pinned = true},
                             {.bytes = 1024},
                             {.bytes = 1024},
                             {.bytes = 1024},
                             {.bytes = 1024},
                             {.bytes = 64, .pinned = true}},
                  .stages = {{}}};
  problem.nodes = {{.in = {0}, .out = {1}, .cost_ns = 1},
                   {.in = {1}, .out = {2}, .cost_ns = 100},
                   {.in = {2}, .out = {3}, .cost_ns = 100},
                   {.in = {3}, .out = {4}, .cost_ns = 100},
                   {.in = {1, 4}, .out = {5}, .cost_ns = 100}};
  const UnitGraph graph(problem);
  const auto sequence = recompute(graph, graph.program(), 64 + 2 * 1024 + 64, Effort::full);
  ASSERT_TRUE(sequence);
  EXPECT_EQ(*sequence, (std::vector<int>{0, 1, 2, 3, 0, 4}));
}

TEST(Recompute, NeverRunsAcrossAnImpureNode) {
  Problem problem = testing::training_chain(12, 2);
  for (ProblemNode& node : problem.nodes) node.recomputable = node.name != "loss";
  const UnitGraph graph(problem);
  const Timeline program(graph, graph.program());
  const auto sequence = recompute(graph, graph.program(), program.peak() * 9 / 10, Effort::full);
  EXPECT_FALSE(sequence) << "the forward part lies before the loss and cannot run after it";
}

}  // namespace
}  // namespace snug
