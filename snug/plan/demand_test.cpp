#include "snug/plan/demand.h"

#include <gtest/gtest.h>

namespace snug {
namespace {

// A chain of so many nodes; one beside it; and one that reads the ends of both.
Problem chain(int nodes) {
  Problem problem{.values = {{.bytes = 64, .given = true}}, .stages = {{}}};
  for (int i = 0; i < nodes; ++i) {
    problem.values.push_back({.bytes = 64});
    problem.nodes.push_back({.in = {i}, .out = {i + 1}, .cost_ns = 1});
  }
  problem.values.push_back({.bytes = 64});
  problem.nodes.push_back({.in = {0}, .out = {nodes + 1}, .cost_ns = 1});
  problem.values.push_back({.bytes = 64, .pinned = true});
  problem.nodes.push_back({.in = {nodes, nodes + 1}, .out = {nodes + 2}, .cost_ns = 1});
  return problem;
}

TEST(Demand, MakesWhatWasNotKept) {
  const Problem problem = chain(3);
  const UnitGraph graph(problem);
  const Timeline timeline(graph, graph.program());
  std::vector<char> kept(graph.bytes.size(), 0);
  EXPECT_EQ(make_on_demand(timeline, 3, kept), (std::vector<int>{0, 1, 2, 3, 0, 1, 2, 4}));
  kept[2] = 1;
  EXPECT_EQ(make_on_demand(timeline, 3, kept), (std::vector<int>{0, 1, 2, 3, 2, 4}));
}

TEST(Demand, AChainMayBeOfAnyLength) {
  constexpr int kNodes = 300'000;
  const Problem problem = chain(kNodes);
  const UnitGraph graph(problem);
  const Timeline timeline(graph, graph.program());
  const std::vector<char> kept(graph.bytes.size(), 0);
  EXPECT_EQ(make_on_demand(timeline, kNodes, kept).size(), size_t{2 * kNodes + 2});
}

}  // namespace
}  // namespace snug
