#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "snug/base/error.h"
#include "snug/plan/plan.h"
#include "snug/plan/random_problem.h"

namespace snug {
namespace {

// One stage in parts with a local value, one without, an overwrite, scratch in both, a pinned
// result.
Problem small_problem() {
  return {
      .values = {{.name = "x", .bytes = 1024, .part_bytes = 256, .given = true},
                 {.name = "a", .bytes = 1024, .part_bytes = 256},
                 {.name = "b", .bytes = 1024, .part_bytes = 256},
                 {.name = "c", .bytes = 1024},
                 {.name = "d", .bytes = 640},
                 {.name = "y", .bytes = 64, .pinned = true}},
      .nodes = {{.name = "make_a", .in = {0}, .out = {1}, .scratch_bytes = 64, .stage = 0},
                {.name = "make_b", .in = {1}, .out = {2}, .stage = 0},
                {.name = "make_c", .in = {2}, .out = {3}, .overwrites = {{0, 0}}, .stage = 1},
                {.name = "make_d", .in = {3}, .out = {4}, .scratch_bytes = 64, .stage = 1},
                {.name = "make_y", .in = {3, 4}, .out = {5}, .stage = 1, .recomputable = false}},
      .stages = {{.parts = 4, .lanes = 2}, {}}};
}

class ValidateTest : public ::testing::Test {
 protected:
  ValidateTest() : problem_(small_problem()), plan_(make_plan(problem_, kUnlimited)) {
    validate(problem_, plan_);
  }

  // Breaks the plan and expects the message to say how.
  void expect_refused(const std::string& why, const std::function<void(Plan&)>& corrupt) {
    Plan plan = plan_;
    corrupt(plan);
    try {
      validate(problem_, plan);
      ADD_FAILURE() << "accepted: " << why;
    } catch (const InternalError& error) {
      EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
    }
  }

  Problem problem_;
  Plan plan_;
};

TEST_F(ValidateTest, Overlap) {
  expect_refused("live at the same time",
                 [](Plan& p) { p.buffers[4].offset = p.buffers[3].offset; });
  expect_refused("live at the same time",
                 [](Plan& p) { p.steps[3].scratch_offset = p.buffers[3].offset; });
  expect_refused("live at the same time",
                 [](Plan& p) { p.stages[0].lane_offset = p.buffers[0].offset; });
  expect_refused("live at the same time",
                 [](Plan& p) { p.steps[0].scratch_offset = p.buffers[1].offset; });
}

TEST_F(ValidateTest, OverwriteWithoutPermission) {
  ASSERT_EQ(plan_.buffers[2].offset, plan_.buffers[3].offset);
  problem_.nodes[2].overwrites.clear();
  expect_refused("live at the same time", [](Plan&) {});
}

TEST_F(ValidateTest, MissingNode) {
  expect_refused("never runs", [](Plan& p) {
    p.steps.pop_back();
    p.stages[1].last_step = 4;
    p.buffers.pop_back();
    p.buffers[3].last_step = p.buffers[4].last_step = 3;
  });
  expect_refused("is in no stage", [](Plan& p) { p.stages[1].last_step = 4; });
}

TEST_F(ValidateTest, WrongOrder) {
  expect_refused("outside its lifetime", [](Plan& p) { std::swap(p.steps[2], p.steps[3]); });
  expect_refused("runs out of order", [](Plan& p) { std::swap(p.steps[3], p.steps[4]); });
  expect_refused("other parts or lanes", [](Plan& p) { std::swap(p.steps[1], p.steps[2]); });
}

TEST_F(ValidateTest, ReadAfterFree) {
  expect_refused("outside its lifetime", [](Plan& p) { p.buffers[3].last_step = 3; });
  expect_refused("outside its lifetime", [](Plan& p) { p.buffers[0].last_step = -1; });
  // With lifetimes that look right, the replay still sees that d's bytes were lost before they were
  // read.
  expect_refused("in the same bytes", [](Plan& p) { p.buffers[5].offset = p.buffers[4].offset; });
}

TEST_F(ValidateTest, OutsideTheArena) {
  expect_refused("outside the arena", [](Plan& p) { p.buffers[0].offset = p.arena_bytes; });
  expect_refused("outside the arena",
                 [](Plan& p) { p.stages[0].lane_offset = p.arena_bytes - 64; });
  expect_refused("outside its place", [](Plan& p) { p.steps[3].scratch_offset = p.arena_bytes; });
  expect_refused("not aligned", [](Plan& p) { p.buffers[5].offset += 8; });
  expect_refused("not aligned", [](Plan& p) { p.buffers[5].offset = -64; });
}

TEST_F(ValidateTest, Locals) {
  ASSERT_TRUE(plan_.buffers[1].local);
  expect_refused("outside the lane's block",
                 [](Plan& p) { p.buffers[1].offset = p.stages[0].lane_bytes; });
  expect_refused("outside its place",
                 [](Plan& p) { p.steps[0].scratch_offset = p.stages[0].lane_bytes; });
  expect_refused("has other bytes", [](Plan& p) { p.buffers[1].local = false; });
  expect_refused("lives beyond its stage", [](Plan& p) { p.buffers[2].local = true; });
}

TEST_F(ValidateTest, WrongBuffers) {
  expect_refused("another value", [](Plan& p) { p.steps[4].in[1] = 3; });
  expect_refused("another number of values", [](Plan& p) { p.steps[4].in.pop_back(); });
  expect_refused("is needed at the end", [](Plan& p) { p.buffers[5].last_step = 4; });
  expect_refused("other bytes", [](Plan& p) { p.buffers[4].bytes = 600; });
  expect_refused("nothing writes", [](Plan& p) { p.buffers.push_back(p.buffers[4]); });
}

TEST_F(ValidateTest, ImpureNodeRunsOnce) {
  expect_refused("runs out of order", [](Plan& p) {
    p.steps.push_back(p.steps[4]);
    p.stages[1].last_step = 6;
  });
}

// How many rows a part has, and whether it commits, is a stage's: its nodes have no other one.
TEST_F(ValidateTest, NodesOfAnotherStage) {
  problem_.stages.push_back({});
  problem_.nodes[4].stage = 2;
  plan_ = make_plan(problem_, kUnlimited);
  expect_refused("make_y runs in a stage of others", [](Plan& p) {
    p.stages[1].last_step = p.stages[2].last_step;
    p.stages.pop_back();
  });
}

// a is read by the parts of a stage, of which another node makes c in the place of a.
class ValidatePartsTest : public ::testing::Test {
 protected:
  ValidatePartsTest() {
    problem_.nodes = {{.name = "make_a", .in = {0}, .out = {1}, .stage = 0},
                      {.name = "make_b", .in = {1}, .out = {2}, .stage = 1},
                      {.name = "make_c", .in = {2}, .out = {3}, .stage = 1},
                      {.name = "make_y", .in = {3}, .out = {4}, .stage = 2}};
    plan_ = make_plan(problem_, kUnlimited);
  }

  void SetUp() override {
    ASSERT_EQ(plan_.buffers[1].offset, plan_.buffers[3].offset);
    ASSERT_TRUE(plan_.buffers[2].local);
    ASSERT_NO_THROW(validate(problem_, plan_));
  }

  std::string complaint() const {
    try {
      validate(problem_, plan_);
      return "";
    } catch (const InternalError& error) {
      return error.what();
    }
  }
  bool is_refused() const { return complaint().find("in the same bytes") != std::string::npos; }

  void also_reads_a(int step) {
    problem_.nodes[step].in.push_back(1);
    plan_.steps[step].in.push_back(1);
    plan_.buffers[1].last_step = step;
  }

  Problem problem_{.values = {{.name = "x", .bytes = 64, .given = true},
                              {.name = "a", .bytes = 1024, .part_bytes = 256},
                              {.name = "b", .bytes = 1024, .part_bytes = 256},
                              {.name = "c", .bytes = 1024, .part_bytes = 256},
                              {.name = "y", .bytes = 64, .pinned = true}},
                   .stages = {{.parts = 4, .lanes = 2}, {.parts = 4, .lanes = 2}, {}}};
  Plan plan_;
};

TEST_F(ValidatePartsTest, WhoWritesStillReads) {
  also_reads_a(2);
  EXPECT_TRUE(is_refused()) << complaint();
}

TEST_F(ValidatePartsTest, ALaterStageStillReads) {
  also_reads_a(3);
  EXPECT_TRUE(is_refused()) << complaint();
}

TEST_F(ValidatePartsTest, OtherRows) {
  problem_.values[3].bytes = plan_.buffers[3].bytes = 512;
  problem_.values[3].part_bytes = 128;
  EXPECT_TRUE(is_refused()) << complaint();
}

TEST_F(ValidatePartsTest, NoRows) {
  problem_.values[1].part_bytes = 0;
  EXPECT_TRUE(is_refused()) << complaint();
  problem_.values[1].part_bytes = 256;
  problem_.values[3].part_bytes = 0;
  EXPECT_TRUE(is_refused()) << complaint();
}

TEST_F(ValidatePartsTest, RowsBesideTheirPlace) {
  plan_.buffers[1].offset = plan_.buffers[3].offset = plan_.arena_bytes;
  plan_.arena_bytes += 1024 + 64;
  EXPECT_EQ(complaint(), "");
  plan_.buffers[3].offset += 64;
  EXPECT_TRUE(is_refused()) << complaint();
}

// Two results at once in the place of a.
TEST_F(ValidatePartsTest, APlaceIsTakenOnce) {
  problem_.values.push_back(problem_.values[3]);
  problem_.nodes[2].out.push_back(5);
  problem_.nodes[3].in.push_back(5);
  plan_.buffers.push_back(plan_.buffers[3]);
  plan_.buffers.back().value = 5;
  plan_.steps[2].out.push_back(5);
  plan_.steps[3].in.push_back(5);
  EXPECT_TRUE(is_refused()) << complaint();
}

// Random single changes of offsets are either harmless by the brute-force rule or refused.
TEST(Validate, MovedBuffersAreCaught) {
  int refused = 0, tried = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    testing::RandomProblem source(seed);
    const Problem problem = source.make();
    Plan plan = make_plan(problem, kUnlimited);
    const int b = source.pick(0, static_cast<int>(plan.buffers.size()) - 1);
    if (plan.buffers[b].local || plan.buffers[b].bytes == 0) continue;
    const int other = source.pick(0, static_cast<int>(plan.buffers.size()) - 1);
    const Buffer &x = plan.buffers[b], &y = plan.buffers[other];
    const bool both_live = x.first_step < y.last_step && y.first_step < x.last_step;
    if (other == b || y.local || !both_live || y.bytes == 0) continue;
    if (y.offset + x.bytes > plan.arena_bytes) continue;
    plan.buffers[b].offset = y.offset;
    ++tried;
    try {
      validate(problem, plan);
    } catch (const InternalError&) {
      ++refused;
    }
  }
  EXPECT_GT(tried, 5);
  EXPECT_EQ(refused, tried);
}

}  // namespace
}  // namespace snug
