#include "snug/plan/undo.h"

#include <gtest/gtest.h>

#include "snug/plan/random_problem.h"
#include "snug/plan/spill_schedule.h"
#include "snug/plan/timeline.h"

namespace snug {
namespace {

// a -> b -> c, d from a; the end needs c and d.
Problem small() {
  Problem problem{.values = {{.bytes = 64, .given = true, .pinned = true},
                             {.bytes = 64},
                             {.bytes = 64},
                             {.bytes = 64, .pinned = true},
                             {.bytes = 64, .pinned = true}},
                  .stages = {{}}};
  problem.nodes = {{.in = {0}, .out = {1}, .cost_ns = 1},
                   {.in = {1}, .out = {2}, .cost_ns = 1},
                   {.in = {2}, .out = {3}, .cost_ns = 1},
                   {.in = {1}, .out = {4}, .cost_ns = 1}};
  return problem;
}

TEST(Undo, WhatIsNotReadBeforeItIsMadeAgainCanWait) {
  const UnitGraph graph(small());
  int64_t work = 1000;
  EXPECT_EQ(without_waste(graph, {0, 1, 0, 1, 2, 3}, 64 * 3, work), (std::vector<int>{0, 1, 2, 3}));
}

TEST(Undo, KeepsWhatTheLimitAsksFor) {
  const UnitGraph graph(small());
  int64_t work = 1000;
  const std::vector<int> again = {0, 1, 2, 0, 3};
  // Beside the given value and two others there is no room for value 1 while node 2 runs.
  EXPECT_EQ(without_waste(graph, again, 64 * 3, work), again);
  EXPECT_EQ(without_waste(graph, again, 64 * 4, work), (std::vector<int>{0, 1, 2, 3}));
}

// Nobody reads the first copy but the file.
TEST(Undo, WhatIsReadBackIsMadeBefore) {
  const Problem problem = small();
  const UnitGraph graph = with_reads(problem, UnitGraph(problem), {0, 1, 0, 0, 0});
  const int read = graph.producer[1];
  int64_t work = 1000;
  EXPECT_EQ(without_waste(graph, {0, read, 1, 2, 0, 3}, INT64_MAX, work),
            (std::vector<int>{0, 1, 2, 3}));
}

TEST(Undo, LeavesAProgramAlone) {
  const Problem problem = testing::RandomProblem(3).make();
  const UnitGraph graph(problem);
  int64_t work = 100'000;
  EXPECT_EQ(without_waste(graph, graph.program(), INT64_MAX, work), graph.program());
}

}  // namespace
}  // namespace snug
