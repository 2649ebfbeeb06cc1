#include "snug/plan/nested.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "snug/plan/stretches.h"

namespace snug {
namespace {

// A chain of layers of the same size, whose way down reads the way up from the last to the first.
Problem chain(int layers) {
  Problem problem{.stages = {{}}};
  const auto value = [&](bool given, bool pinned) {
    problem.values.push_back({.bytes = 64, .given = given, .pinned = pinned});
    return static_cast<int>(problem.values.size()) - 1;
  };
  std::vector<int> up{value(true, true)};
  for (int i = 0; i < layers; ++i) {
    up.push_back(value(false, false));
    problem.nodes.push_back({.in = {up[i]}, .out = {up[i + 1]}, .cost_ns = 1});
  }
  int gradient = up.back();
  for (int i = layers - 1; i >= 0; --i) {
    const int next = value(false, i == 0);
    problem.nodes.push_back({.in = {gradient, up[i]}, .out = {next}, .cost_ns = 2});
    gradient = next;
  }
  return problem;
}

TEST(Stretches, GoUpAndDown) {
  const Problem problem = chain(16);
  const UnitGraph graph(problem);
  const Timeline program(graph, graph.program());
  const Stretches stretches(program, 4);
  EXPECT_GE(stretches.count(), 3);
  EXPECT_EQ(stretches.begin(0), 0);
  EXPECT_EQ(stretches.end(stretches.count() - 1), stretches.top() + 1);
  EXPECT_EQ(stretches.down_begin(stretches.count() - 1), stretches.top() + 1);
  EXPECT_EQ(stretches.down_end(0), program.length());
  for (int i = 1; i < stretches.count(); ++i) {
    EXPECT_EQ(stretches.begin(i), stretches.end(i - 1));
    EXPECT_EQ(stretches.down_begin(i - 1), stretches.down_end(i));
    EXPECT_EQ(stretches.crossing_bytes(0, i), 64);
  }
}

// 256 values on the way up in the bytes of 18: no stretch of them fits whole, so that stretches of
// stretches are made again, each about five times.
TEST(Nested, AStretchWithinAStretch) {
  const Problem problem = chain(256);
  const UnitGraph graph(problem);
  const Timeline program(graph, graph.program());
  const int64_t limit = 64 * 18;
  const std::vector<int> sequence = nested_sequence(program, limit, 64);
  ASSERT_FALSE(sequence.empty());
  EXPECT_LE(Timeline(graph, sequence).peak(), limit * 5 / 4);
  EXPECT_LT(graph.cost_ns(sequence), 3 * graph.cost_ns(graph.program()));
  std::vector<int> runs(graph.program_size, 0);
  for (const int u : sequence) ++runs[u];
  EXPECT_GE(*std::min_element(runs.begin(), runs.end()), 1);
  EXPECT_GE(*std::max_element(runs.begin(), runs.end()), 3);
}

TEST(Nested, NothingBelowWhatOneStretchTakes) {
  const Problem problem = chain(64);
  const UnitGraph graph(problem);
  EXPECT_TRUE(nested_sequence(Timeline(graph, graph.program()), 64 * 3, 8).empty());
}

}  // namespace
}  // namespace snug
