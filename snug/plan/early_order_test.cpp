#include "snug/plan/early_order.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "snug/plan/random_problem.h"

namespace snug {
namespace {

// Three gradients are made, and only then are they added to what there was.
TEST(EarlyOrder, WhatCanBeAddedUpIs) {
  Problem problem{.values = {{.bytes = 64, .given = true}}, .stages = {{}}};
  const auto value = [&](ProblemValue v) {
    problem.values.push_back(v);
    return static_cast<int>(problem.values.size()) - 1;
  };
  for (int i = 0; i < 3; ++i)
    problem.nodes.push_back({.in = {0}, .out = {value({.bytes = 640})}, .cost_ns = 1});
  for (int i = 0; i < 3; ++i) {
    const int old = value({.bytes = 640, .given = true});
    const int sum = value({.bytes = 640, .pinned = true});
    problem.nodes.push_back({.in = {1 + i, old}, .out = {sum}, .cost_ns = 1});
  }
  const UnitGraph graph(problem);
  EXPECT_EQ(early_order(graph, graph.program()), (std::vector{0, 3, 1, 4, 2, 5}));
}

TEST(EarlyOrder, NothingRunsBeforeItsInputsNorAcrossAUnitThatIsNotPure) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const Problem problem = testing::RandomProblem(seed).make();
    const UnitGraph graph(problem);
    std::vector<int> order = early_order(graph, graph.program());
    std::vector<char> there = graph.given;
    int section = 0;
    for (const int u : order) {
      const Unit& unit = graph.units[u];
      EXPECT_GE(unit.section, section) << "seed " << seed;
      section = unit.section + (unit.pure ? 0 : 1);
      for (const int v : unit.in) EXPECT_TRUE(there[v]) << "seed " << seed;
      for (const int v : unit.out) there[v] = 1;
    }
    std::ranges::sort(order);
    EXPECT_EQ(order, graph.program());
  }
}

}  // namespace
}  // namespace snug
