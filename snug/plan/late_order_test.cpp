#include "snug/plan/late_order.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "snug/plan/random_problem.h"
#include "snug/plan/timeline.h"

namespace snug {
namespace {

// A copy of a value waits beside it although it is read much later.
TEST(LateOrder, WhatIsReadLateIsMadeLate) {
  Problem problem{.values = {{.bytes = 64, .given = true},
                             {.bytes = 640},
                             {.bytes = 640},
                             {.bytes = 640},
                             {.bytes = 64},
                             {.bytes = 64, .pinned = true}},
                  .stages = {{}}};
  problem.nodes = {{.in = {0}, .out = {1}},
                   {.in = {1}, .out = {2}},
                   {.in = {1}, .out = {3}},
                   {.in = {2}, .out = {4}},
                   {.in = {3, 4}, .out = {5}}};
  const UnitGraph graph(problem);
  EXPECT_EQ(late_order(graph, graph.program()), (std::vector{0, 1, 3, 2, 4}));
}

TEST(LateOrder, NothingRunsBeforeItsInputsNorAcrossAUnitThatIsNotPure) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const Problem problem = testing::RandomProblem(seed).make();
    const UnitGraph graph(problem);
    const std::vector<int> order = late_order(graph, graph.program());
    std::vector<char> there = graph.given;
    int section = 0;
    for (const int u : order) {
      const Unit& unit = graph.units[u];
      EXPECT_GE(unit.section, section) << "seed " << seed;
      section = unit.section + (unit.pure ? 0 : 1);
      for (const int v : unit.in) EXPECT_TRUE(there[v]) << "seed " << seed;
      for (const int v : unit.out) there[v] = 1;
    }
    std::vector<int> sorted = order;
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(sorted, graph.program());
  }
}

}  // namespace
}  // namespace snug
