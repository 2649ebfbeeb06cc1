#include "snug/plan/walk.h"

#include <gtest/gtest.h>

#include "snug/plan/bounds.h"
#include "snug/plan/random_problem.h"

namespace snug {
namespace {

TEST(Walk, HoldsTightLimits) {
  for (const WalkOrder order : {WalkOrder::program, WalkOrder::depth_first, WalkOrder::frugal}) {
    int found = 0;
    for (uint64_t seed = 0; seed < 20; ++seed) {
      Problem problem = testing::training_chain(25, seed);
      for (ProblemNode& node : problem.nodes) node.overwrites.clear();
      const UnitGraph graph(problem);
      const Timeline program(graph, graph.program());
      const int64_t limit = least_peak(program) * 13 / 10;
      const auto sequence = walk(graph, graph.program(), limit, order);
      if (!sequence) continue;
      ++found;
      const Timeline walked(graph, *sequence);
      EXPECT_LE(walked.peak(), limit) << "seed " << seed;
      int first = 0;
      for (int p = 0; p < walked.length(); ++p) {
        if (walked.is_first(p)) {
          EXPECT_EQ(walked.sequence()[p], first++);
        }
      }
      EXPECT_EQ(first, static_cast<int>(graph.units.size()));
    }
    EXPECT_GE(found, 15);
  }
}

TEST(Walk, IsTheProgramWhereEverythingFits) {
  const Problem problem = testing::training_chain(10, 1);
  const UnitGraph graph(problem);
  EXPECT_EQ(*walk(graph, graph.program(), INT64_MAX, WalkOrder::program), graph.program());
}

// A line of stages in parts, each of which writes where it has read: one value at a time.
TEST(Walk, HasNoRoomTakenByWhatIsWrittenWhereItWasRead) {
  Problem problem;
  for (int i = 0; i < 5; ++i) {
    problem.stages.push_back({.parts = 4});
    const int v = static_cast<int>(problem.values.size());
    problem.values.push_back({.bytes = 4096, .part_bytes = 1024});
    problem.values.push_back({.bytes = 4096, .part_bytes = 1024});
    problem.nodes.push_back({.out = {v}, .stage = i});
    if (i > 0) problem.nodes.back().in = {v - 1};
    problem.nodes.push_back({.in = {v}, .out = {v + 1}, .stage = i});
  }
  problem.values.back().pinned = true;
  const UnitGraph graph(problem);
  const int64_t least = 4096 + graph.units[1].extra_bytes;
  for (const WalkOrder order : {WalkOrder::program, WalkOrder::depth_first, WalkOrder::frugal}) {
    EXPECT_EQ(walk(graph, graph.program(), least, order), graph.program());
    EXPECT_FALSE(walk(graph, graph.program(), least - 1, order));
  }
}

}  // namespace
}  // namespace snug
