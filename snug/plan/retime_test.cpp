#include "snug/plan/retime.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "snug/plan/random_problem.h"
#include "snug/plan/timeline.h"
#include "snug/plan/walk.h"

namespace snug {
namespace {

// A large value is made again long before it is read.
TEST(Retime, WhatRunsAgainRunsLate) {
  Problem problem{.values = {{.bytes = 64, .given = true, .pinned = true},
                             {.bytes = 6400},
                             {.bytes = 64},
                             {.bytes = 6400},
                             {.bytes = 64},
                             {.bytes = 64, .pinned = true}},
                  .stages = {{}}};
  problem.nodes = {{.in = {0}, .out = {1}, .cost_ns = 1},
                   {.in = {1}, .out = {2}, .cost_ns = 1},
                   {.in = {2}, .out = {3}, .cost_ns = 1},
                   {.in = {3}, .out = {4}, .cost_ns = 1},
                   {.in = {1, 4}, .out = {5}, .cost_ns = 1}};
  const UnitGraph graph(problem);
  EXPECT_EQ(retimed(graph, {0, 1, 0, 2, 3, 4}), (std::vector{0, 1, 2, 3, 0, 4}));
}

// Every unit runs as often as before, and what it reads is there.
TEST(Retime, IsASequenceOfTheSameProblem) {
  int walked = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const Problem problem =
        seed % 2 == 0 ? testing::RandomProblem(seed).make() : testing::training_chain(10, seed);
    const UnitGraph graph(problem);
    const int64_t peak = Timeline(graph, graph.program()).peak();
    const auto sequence = walk(graph, graph.program(), peak * 3 / 4, WalkOrder::program);
    if (!sequence) continue;
    ++walked;
    const std::vector<int> moved = retimed(graph, *sequence);
    std::vector<char> there = graph.given;
    for (const int u : moved) {
      for (const int v : graph.units[u].in) EXPECT_TRUE(there[v]) << "seed " << seed;
      for (const int v : graph.units[u].out) there[v] = 1;
    }
    EXPECT_TRUE(std::ranges::is_permutation(moved, *sequence));
  }
  EXPECT_GT(walked, 5);
}

}  // namespace
}  // namespace snug
