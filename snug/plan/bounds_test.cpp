#include "snug/plan/bounds.h"

#include <gtest/gtest.h>

#include "snug/plan/exhaustive.h"
#include "snug/plan/random_problem.h"

namespace snug {
namespace {

TEST(Bounds, NothingIsBelowThem) {
  int compared = 0;
  for (uint64_t seed = 0; seed < 80; ++seed) {
    const Problem problem = testing::training_chain(3, seed);
    const UnitGraph graph(problem);
    const Timeline program(graph, graph.program());
    const int64_t floor = least_peak(program), least = least_bytes(graph);
    EXPECT_LE(floor, program.peak());
    EXPECT_LE(least, program.peak());
    EXPECT_FALSE(search_exhaustively(graph, least - 1).sequence) << "seed " << seed;
    for (int64_t limit = floor; limit < program.peak(); limit += 1 + (program.peak() - floor) / 4) {
      const ExhaustiveResult truth = search_exhaustively(graph, limit);
      if (!truth.sequence) continue;
      ++compared;
      EXPECT_LE(least_cost_ns(graph, limit), graph.cost_ns(*truth.sequence) * 1.000001)
          << "seed " << seed;
    }
  }
  EXPECT_GT(compared, 5);
}

// Twenty chains that may run in any order, until one unit reads the ends of all of them; their
// values are read again after it, in any order too. Everywhere else the program is fuller.
TEST(Bounds, LookAtTheUnitWherePassesMeet) {
  Problem problem{.values = {{.bytes = 64, .given = true, .pinned = true}}, .stages = {{}}};
  const auto add = [&](std::vector<int> in, int64_t bytes, double cost) {
    problem.values.push_back({.bytes = bytes});
    const int out = static_cast<int>(problem.values.size()) - 1;
    problem.nodes.push_back({.in = std::move(in), .out = {out}, .cost_ns = cost});
    return out;
  };
  std::vector<int> ends, kept;
  for (int chain = 0; chain < 20; ++chain) {
    int x = 0;
    for (int i = 0; i < 12; ++i) {
      kept.push_back(x = add({x}, 640, 100));
      add({x}, 64'000, 1);  // Read by nobody.
    }
    ends.push_back(x);
  }
  const int meeting = add(ends, 64, 1);
  for (const int v : kept) add({meeting, v}, 64'000, 1);
  const UnitGraph graph(problem);
  EXPECT_GT(least_cost_ns(graph, 640 * 113), 1.4 * graph.cost_ns(graph.program()));
}

// Whichever result is made last, the other is there, and so is what it is made from.
TEST(Bounds, KnowWhatTheLastResultIsMadeFrom) {
  Problem problem{.values = {{.bytes = 64, .given = true, .pinned = true},
                             {.bytes = 640},
                             {.bytes = 6400, .pinned = true},
                             {.bytes = 1280},
                             {.bytes = 6400, .pinned = true}},
                  .stages = {{}}};
  problem.nodes = {{.in = {0}, .out = {1}, .cost_ns = 1},
                   {.in = {1}, .out = {2}, .cost_ns = 1},
                   {.in = {0}, .out = {3}, .cost_ns = 1},
                   {.in = {3}, .out = {4}, .cost_ns = 1}};
  EXPECT_EQ(least_bytes(UnitGraph(problem)), 64 + 6400 + 6400 + 640);
}

// A small result may be the last; but then it is little room for what the one before it is made
// from.
TEST(Bounds, KnowWhatTheResultBeforeTheLastIsMadeFrom) {
  Problem problem{.values = {{.bytes = 64, .given = true, .pinned = true},
                             {.bytes = 640},
                             {.bytes = 6400, .pinned = true},
                             {.bytes = 1280},
                             {.bytes = 6400, .pinned = true},
                             {.bytes = 128, .pinned = true}},
                  .stages = {{}}};
  problem.nodes = {{.in = {0}, .out = {1}, .cost_ns = 1},
                   {.in = {1}, .out = {2}, .cost_ns = 1},
                   {.in = {0}, .out = {3}, .cost_ns = 1},
                   {.in = {3}, .out = {4}, .cost_ns = 1},
                   {.in = {0}, .out = {5}, .cost_ns = 1}};
  EXPECT_EQ(least_bytes(UnitGraph(problem)), 64 + 6400 + 6400 + 640);
}

// In another one nothing is computed again.
TEST(Bounds, HoldForEveryOrder) {
  const Problem problem = testing::two_branches();
  const UnitGraph graph(problem);
  EXPECT_DOUBLE_EQ(least_cost_ns(graph, testing::kBranchAfterBranch), 5);
}

// Two cheap large values and a dear one: the bound sees what must be made again, with what it
// needs.
TEST(Bounds, CountsWhatIsNeededToMakeAValueAgain) {
  Problem problem{.values = {{.bytes = 64, .given = true, .pinned = true},
                             {.bytes = 640},
                             {.bytes = 640},
                             {.bytes = 6400},
                             {.bytes = 640},
                             {.bytes = 64, .pinned = true}},
                  .stages = {{}}};
  problem.nodes = {{.in = {0}, .out = {1}, .cost_ns = 50},
                   {.in = {1}, .out = {2}, .cost_ns = 1},
                   {.in = {2}, .out = {3}, .cost_ns = 10},
                   {.in = {3}, .out = {4}, .cost_ns = 10},
                   {.in = {2, 4}, .out = {5}, .cost_ns = 10}};
  const UnitGraph graph(problem);
  // Beside values 3 and 4 there is no room for value 2 nor for value 1: both are made again.
  EXPECT_NEAR(least_cost_ns(graph, 64 + 640 + 6400), 81 + 51, 1);
}

// Two values of which each takes 100 ns, and what both are followed by.
Problem two_dear_values() {
  Problem problem{.values = {{.bytes = 64, .given = true, .pinned = true},
                             {.bytes = 6400},
                             {.bytes = 64},
                             {.bytes = 6400},
                             {.bytes = 64},
                             {.bytes = 64}},
                  .stages = {{}}};
  problem.nodes = {{.in = {0}, .out = {1, 2}, .cost_ns = 100},
                   {.in = {0}, .out = {3, 4}, .cost_ns = 100},
                   {.in = {2, 4}, .out = {5}, .scratch_bytes = 64'000, .cost_ns = 1}};
  return problem;
}

// There is room for one and a half of them.
TEST(Bounds, KeepWholeValues) {
  Problem problem = two_dear_values();
  problem.values.push_back({.bytes = 64, .pinned = true});
  problem.nodes.push_back({.in = {1, 3, 5}, .out = {6}, .cost_ns = 1});
  const UnitGraph graph(problem);
  const int64_t limit = 64'000 + 4 * 64 + 6400 * 3 / 2;
  EXPECT_NEAR(least_cost_ns(graph, limit), 202 + 100, 1e-3);
  EXPECT_EQ(graph.cost_ns(*search_exhaustively(graph, limit).sequence), 302);
}

// A result is made before the moment and has to be kept, or it is made later and what it is made
// from has to be there.
TEST(Bounds, CountResultsThatMayBeThereAlready) {
  Problem problem = two_dear_values();
  for (const int from : {1, 3}) {
    problem.nodes.push_back(
        {.in = {from}, .out = {static_cast<int>(problem.values.size())}, .cost_ns = 1});
    problem.values.push_back({.bytes = 6400, .pinned = true});
  }
  const UnitGraph graph(problem);
  const int64_t limit = 64'000 + 4 * 64;
  EXPECT_NEAR(least_cost_ns(graph, limit), 203 + 200, 1e-3);
  EXPECT_EQ(graph.cost_ns(*search_exhaustively(graph, limit).sequence), 403);
}

// Whichever of two results is made first, there is no room beside it for what the other is made
// from.
TEST(Bounds, KnowThatOneResultIsTheFirst) {
  Problem problem = two_dear_values();
  problem.nodes.back().scratch_bytes = 0;
  for (const int from : {1, 3}) {
    const int made = static_cast<int>(problem.values.size());
    problem.nodes.push_back(
        {.in = {from, 5}, .out = {made}, .scratch_bytes = 64'000, .cost_ns = 1});
    problem.values.push_back({.bytes = 64, .pinned = true});
  }
  const UnitGraph graph(problem);
  const int64_t limit = 64'000 + 6400 + 6 * 64;
  EXPECT_NEAR(least_cost_ns(graph, limit), 203 + 100, 1e-3);
  EXPECT_EQ(graph.cost_ns(*search_exhaustively(graph, limit).sequence), 303);
}

// Many values made from one large value, all of them read by one node: when the last of them is
// made, the others are there, and so is the large one.
TEST(Bounds, WhatIsReadAtOnceHasToBeGathered) {
  Problem problem{.values = {{.bytes = 64, .given = true}, {.bytes = 640}}, .stages = {{}}};
  problem.nodes.push_back({.in = {0}, .out = {1}, .cost_ns = 1});
  std::vector<int> leaves;
  for (int i = 0; i < 5; ++i) {
    leaves.push_back(static_cast<int>(problem.values.size()));
    problem.values.push_back({.bytes = 64});
    problem.nodes.push_back({.in = {1}, .out = {leaves.back()}, .cost_ns = 1});
  }
  problem.nodes.push_back({.in = leaves, .cost_ns = 1});
  const UnitGraph graph(problem);
  EXPECT_EQ(least_bytes(graph), 640 + 5 * 64);
}

}  // namespace
}  // namespace snug
