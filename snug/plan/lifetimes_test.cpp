#include "snug/plan/lifetimes.h"

#include <gtest/gtest.h>

#include "snug/base/error.h"

namespace snug {
namespace {

Lifetimes of(const Problem& problem) { return lifetimes(problem, program_order(problem)); }

TEST(Lifetimes, EndWithTheLastReader) {
  const Problem problem{
      .values = {{.bytes = 64, .given = true},
                 {.bytes = 64},
                 {.bytes = 64, .pinned = true},
                 {.bytes = 64}},
      .nodes = {{.in = {0}, .out = {1}}, {.in = {1}, .out = {2}}, {.in = {1}, .out = {3}}},
      .stages = {{}}};
  const Lifetimes lives = of(problem);
  ASSERT_EQ(lives.buffers.size(), 4u);
  EXPECT_EQ(lives.buffers[0].last_step, 0);
  EXPECT_EQ(lives.buffers[1].first_step, 0);
  EXPECT_EQ(lives.buffers[1].last_step, 2);
  EXPECT_EQ(lives.buffers[2].last_step, 3);  // Pinned: to the end.
  EXPECT_EQ(lives.buffers[3].last_step, 2);  // Never read.
}

TEST(Lifetimes, ChainOfOverwritesIsOnePlace) {
  Problem problem{.values = {{.bytes = 100, .given = true}, {.bytes = 128}, {.bytes = 90}},
                  .stages = {{}}};
  problem.nodes = {{.in = {0}, .out = {1}, .overwrites = {{0, 0}}},
                   {.in = {1}, .out = {2}, .overwrites = {{0, 0}}}};
  const Lifetimes lives = of(problem);
  ASSERT_EQ(lives.arena.size(), 1u);
  EXPECT_EQ(lives.arena[0].item.bytes, 128);
  EXPECT_EQ(lives.arena[0].buffers, (std::vector<int>{0, 1, 2}));
}

TEST(Lifetimes, NoOverwriteOfWhatIsStillNeeded) {
  Problem problem{.values = {{.bytes = 64, .given = true}, {.bytes = 64}, {.bytes = 64}},
                  .stages = {{}}};
  problem.nodes = {{.in = {0}, .out = {1}, .overwrites = {{0, 0}}}, {.in = {0, 1}, .out = {2}}};
  EXPECT_EQ(of(problem).arena.size(), 3u);  // Read later.
  problem.nodes[1].in = {1};
  EXPECT_EQ(of(problem).arena.size(), 2u);
  problem.values[0].pinned = true;
  EXPECT_EQ(of(problem).arena.size(), 3u);
  problem.values[0].pinned = false;
  problem.nodes[0].in = {
      0, 0};  // The other reading of the same value is not covered by the permission.
  EXPECT_EQ(of(problem).arena.size(), 3u);
}

TEST(Lifetimes, SmallerOverwriteOnlyWhereItDoesNotHurt) {
  Problem problem{
      .values = {{.bytes = 6400, .given = true}, {.bytes = 64}, {.bytes = 6400}, {.bytes = 64}},
      .stages = {{}}};
  problem.nodes = {{.in = {0}, .out = {1}, .overwrites = {{0, 0}}},
                   {.out = {2}},  // Would find the large place taken by a small value.
                   {.in = {1, 2}, .out = {3}}};
  EXPECT_EQ(of(problem).arena.size(), 4u);
  problem.values[2].bytes = 64;
  problem.values[3].bytes = 0;
  EXPECT_EQ(of(problem).arena.size(), 2u);
}

TEST(Lifetimes, PartsKeepTheirOwnValuesInTheLane) {
  Problem problem{.values = {{.bytes = 1024, .part_bytes = 256, .given = true},
                             {.bytes = 1024, .part_bytes = 256},
                             {.bytes = 1024, .part_bytes = 256},
                             {.bytes = 512},
                             {.bytes = 64, .pinned = true}},
                  .stages = {{.parts = 4, .lanes = 2}, {}}};
  problem.nodes = {{.in = {0}, .out = {1}, .scratch_bytes = 100, .stage = 0},
                   {.in = {1}, .out = {2, 3}, .stage = 0},
                   {.in = {2, 3}, .out = {4}, .stage = 1}};
  const Lifetimes lives = of(problem);
  EXPECT_TRUE(lives.buffers[1].local);
  EXPECT_EQ(lives.buffers[1].bytes, 256);
  EXPECT_FALSE(lives.buffers[2].local);  // Read by the next stage.
  EXPECT_FALSE(lives.buffers[3].local);  // Does not split.
  ASSERT_EQ(lives.lanes[0].size(), 2u);  // The value and the scratch.
  for (const Block& block : lives.arena) {
    if (block.buffers == std::vector<int>{0}) {
      EXPECT_EQ(block.item.last, 1);  // Parts run side by side: needed through the stage.
    }
    if (block.buffers == std::vector<int>{2}) {
      EXPECT_EQ(block.item.first, 0);
    }
  }
}

TEST(Lifetimes, BorderOverwriteNeedsTheSameRows) {
  Problem problem{.values = {{.bytes = 1024, .part_bytes = 256, .given = true},
                             {.bytes = 1024, .part_bytes = 256, .pinned = true}},
                  .stages = {{.parts = 4, .lanes = 2}}};
  problem.nodes = {{.in = {0}, .out = {1}, .overwrites = {{0, 0}}}};
  EXPECT_EQ(of(problem).arena.size(), 1u);
  problem.values[0].part_bytes = 0;
  EXPECT_EQ(of(problem).arena.size(), 2u);
}

TEST(Lifetimes, ComputedAgainIsAnotherBuffer) {
  const Problem problem{
      .values = {{.bytes = 64, .given = true, .pinned = true},
                 {.bytes = 640},
                 {.bytes = 64},
                 {.bytes = 64}},
      .nodes = {{.in = {0}, .out = {1}}, {.in = {1}, .out = {2}}, {.in = {1, 2}, .out = {3}}},
      .stages = {{}}};
  const Lifetimes lives = lifetimes(problem, {{0, {0, 1}}, {0, {0}}, {0, {2}}});
  ASSERT_EQ(lives.steps.size(), 4u);
  ASSERT_EQ(lives.buffers.size(), 5u);
  EXPECT_EQ(lives.buffers[1].last_step, 1);
  EXPECT_EQ(lives.buffers[3].value, 1);
  EXPECT_EQ(lives.buffers[3].first_step, 2);
  EXPECT_EQ(lives.steps[3].in[0], 3);
}

TEST(Lifetimes, ReadingWhatNothingMadeIsOurMistake) {
  const Problem problem{
      .values = {{.bytes = 64}, {.bytes = 64}}, .nodes = {{.in = {0}, .out = {1}}}, .stages = {{}}};
  EXPECT_THROW(of(problem), InternalError);
}

// a, in parts, is read in parts for a lane's own b, of which c is made, for the last node.
struct Narrow {
  Narrow() {
    problem.nodes = {{.in = {0}, .out = {1}, .stage = 0},
                     {.in = {1}, .out = {2}, .stage = 1},
                     {.in = {2}, .out = {3}, .stage = 1},
                     {.in = {3}, .out = {4}, .stage = 2}};
  }
  size_t places() const { return of(problem).arena.size(); }

  Problem problem{.values = {{.bytes = 64, .given = true},
                             {.bytes = 1024, .part_bytes = 256},
                             {.bytes = 1024, .part_bytes = 256},
                             {.bytes = 1024, .part_bytes = 256},
                             {.bytes = 64, .pinned = true}},
                  .stages = {{.parts = 4, .lanes = 2}, {.parts = 4, .lanes = 2}, {}}};
};

TEST(Lifetimes, APartWritesWhereItHasRead) {
  Narrow step;
  ASSERT_EQ(step.places(), 3u);
  const Block block = of(step.problem).arena[1];
  EXPECT_EQ(block.buffers, (std::vector<int>{1, 3}));
  EXPECT_EQ(block.item.bytes, 1024);
  EXPECT_EQ(block.item.first, 0);
  EXPECT_EQ(block.item.last, 3);
  // Parts of another size in the stage that has made it: the same rows at the same bytes.
  step.problem.stages[0].parts = 8;
  step.problem.values[1].part_bytes = 128;
  EXPECT_EQ(step.places(), 3u);
}

TEST(Lifetimes, APartWritesNowhereElse) {
  const auto places = [](const auto& change) {
    Narrow step;
    change(step.problem);
    return step.places();
  };
  EXPECT_EQ(places([](Problem& p) { p.nodes[3].in = {3, 1}; }), 4u) << "read by a later stage";
  EXPECT_EQ(places([](Problem& p) { p.nodes[2].in = {2, 1}; }), 4u) << "read by who writes";
  EXPECT_EQ(places([](Problem& p) { p.values[1].pinned = true; }), 4u) << "wanted in the end";
  EXPECT_EQ(places([](Problem& p) { p.values[3] = {.bytes = 512, .part_bytes = 128}; }), 4u)
      << "rows of other bytes";
  EXPECT_EQ(places([](Problem& p) { p.values[1].part_bytes = 0; }), 4u) << "no rows";
  EXPECT_EQ(places([](Problem& p) { p.values[3].part_bytes = 0; }), 4u) << "a sum over rows";
  EXPECT_EQ(places([](Problem& p) { p.values[3].paged = true; }), 4u) << "on no page";
  EXPECT_EQ(places([](Problem& p) { p.values[1].paged = p.values[3].paged = true; }), 3u);
  EXPECT_EQ(places([](Problem& p) {
              p.values.push_back(p.values[3]);
              p.nodes[2].out.push_back(5);
              p.nodes[3].in.push_back(5);
            }),
            4u)
      << "the place is taken once";
}

}  // namespace
}  // namespace snug
