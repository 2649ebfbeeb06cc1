#include "snug/plan/order.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "snug/plan/random_problem.h"

namespace snug {
namespace {

TEST(Order, BranchesOneAfterTheOther) {
  Problem problem{.values = {{.bytes = 64, .given = true}}, .stages = {{}}};
  const auto value = [&](int64_t bytes) {
    problem.values.push_back({.bytes = bytes});
    return static_cast<int>(problem.values.size()) - 1;
  };
  std::vector<int> large, small;
  for (int i = 0; i < 5; ++i) {
    large.push_back(value(6400));
    problem.nodes.push_back({.in = {0}, .out = {large.back()}, .cost_ns = 1});
  }
  for (int i = 0; i < 5; ++i) {
    small.push_back(value(64));
    problem.nodes.push_back({.in = {large[i]}, .out = {small.back()}, .cost_ns = 1});
  }
  problem.nodes.push_back({.in = small, .out = {value(64)}, .cost_ns = 1});
  const UnitGraph graph(problem);
  EXPECT_GE(Timeline(graph, graph.program()).peak(), 5 * 6400);
  EXPECT_LE(Timeline(graph, best_order(graph, graph.program())).peak(), 6400 + 10 * 64);
}

TEST(Order, KeepsEveryUnitAndNeverRaisesThePeak) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const Problem problem = testing::RandomProblem(seed).make();
    const UnitGraph graph(problem);
    std::vector<int> order = best_order(graph, graph.program());
    EXPECT_LE(Timeline(graph, order).peak(), Timeline(graph, graph.program()).peak());
    int section = 0;
    std::vector<char> made(problem.values.size(), 0);
    for (const int u : order) {
      const Unit& unit = graph.units[u];
      EXPECT_GE(unit.section, section);
      section = unit.section;
      for (const int v : unit.in) EXPECT_TRUE(graph.given[v] || made[v]);
      for (const int v : unit.out) made[v] = 1;
    }
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, graph.program());
  }
}

// All of them are ready at once: each is weighed when something changes for it, not every time.
TEST(Order, OneValueWithVeryManyReaders) {
  constexpr int kReaders = 100'000;
  Problem problem{.values = {{.bytes = 64, .given = true}, {.bytes = 640}}, .stages = {{}}};
  problem.nodes.push_back({.in = {0}, .out = {1}, .cost_ns = 1});
  for (int i = 0; i < kReaders; ++i) {
    problem.values.push_back({.bytes = 64});
    problem.nodes.push_back({.in = {1}, .out = {2 + 2 * i}, .cost_ns = 1});
    problem.values.push_back({.bytes = 8});
    problem.nodes.push_back({.in = {2 + 2 * i}, .out = {3 + 2 * i}, .cost_ns = 1});
  }
  const UnitGraph graph(problem);
  EXPECT_EQ(best_order(graph, graph.program()).size(), graph.program().size());
}

}  // namespace
}  // namespace snug
