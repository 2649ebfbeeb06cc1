#include "snug/plan/window.h"

#include <gtest/gtest.h>

#include "snug/plan/random_problem.h"
#include "snug/plan/walk.h"

namespace snug {
namespace {

// A dear value is dropped and made again, where a cheap one of its size could have been.
Problem two_to_drop() {
  Problem problem{.values = {{.bytes = 64, .given = true, .pinned = true},
                             {.bytes = 640},
                             {.bytes = 640},
                             {.bytes = 1280},
                             {.bytes = 64, .pinned = true}},
                  .stages = {{}}};
  problem.nodes = {{.in = {0}, .out = {1}, .cost_ns = 100},
                   {.in = {0}, .out = {2}, .cost_ns = 1},
                   {.in = {0}, .out = {3}, .cost_ns = 1},
                   {.in = {1, 2}, .out = {4}, .cost_ns = 1}};
  return problem;
}

TEST(Window, DropsTheOtherValue) {
  const Problem problem = two_to_drop();
  const UnitGraph graph(problem);
  const Timeline timeline(graph, {0, 1, 2, 0, 3});
  const int64_t limit = 64 + 640 + 1280;
  ASSERT_LE(timeline.peak(), limit);
  ASSERT_EQ(again_ns(timeline, 0, 5), 100);
  int64_t work = 1'000'000;
  const auto found = replanned(timeline, 0, 5, limit, 100, work);
  ASSERT_TRUE(found);
  EXPECT_LE(Timeline(graph, *found).peak(), limit);
  EXPECT_LE(graph.cost_ns(*found), 104);
  EXPECT_LT(work, 1'000'000);
}

// All around the stretch stays, what it needs included.
TEST(Window, LeavesTheRestAsItWas) {
  int found_some = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Problem problem = testing::training_chain(10, seed);
    for (ProblemNode& node : problem.nodes) {
      node.recomputable = true;
      node.overwrites.clear();
    }
    const UnitGraph graph(problem);
    const int64_t peak = Timeline(graph, graph.program()).peak();
    const auto sequence = walk(graph, graph.program(), peak * 8 / 10, WalkOrder::program);
    if (!sequence) continue;
    const Timeline timeline(graph, *sequence);
    const int from = timeline.length() / 4, to = timeline.length() * 3 / 4;
    const double most = again_ns(timeline, from, to) + 1;
    int64_t work = 5'000'000;
    const auto found = replanned(timeline, from, to, peak * 8 / 10, most, work);
    if (!found) continue;
    ++found_some;
    EXPECT_LE(Timeline(graph, *found).peak(), peak * 8 / 10) << "seed " << seed;
    EXPECT_LT(graph.cost_ns(*found), graph.cost_ns(*sequence) + 1) << "seed " << seed;
    EXPECT_TRUE(std::equal(found->begin(), found->begin() + from, sequence->begin()));
    EXPECT_TRUE(std::equal(found->rbegin(), found->rbegin() + (timeline.length() - to),
                           sequence->rbegin()));
  }
  EXPECT_GT(found_some, 0);
}

TEST(Window, LeavesLongStretches) {
  const Problem problem = testing::training_chain(200, 1);
  const UnitGraph graph(problem);
  const Timeline timeline(graph, graph.program());
  int64_t work = 1000;
  EXPECT_FALSE(replanned(timeline, 0, timeline.length(), INT64_MAX, HUGE_VAL, work));
}

}  // namespace
}  // namespace snug
