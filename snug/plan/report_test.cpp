#include <gtest/gtest.h>

#include <string>

#include "snug/base/bytes.h"
#include "snug/plan/bounds.h"
#include "snug/plan/plan.h"
#include "snug/plan/random_problem.h"

namespace snug {
namespace {

TEST(Report, NamesThePeak) {
  const Problem problem = testing::training_chain(12, 3);
  const Plan plan = make_plan(problem, kUnlimited);
  const std::string text = report(problem, plan);
  EXPECT_NE(text.find("arena"), std::string::npos) << text;
  EXPECT_NE(text.find(std::to_string(plan.arena_bytes) + " bytes"), std::string::npos) << text;
  EXPECT_NE(text.find("peak: step "), std::string::npos) << text;
  EXPECT_NE(text.find("activation"), std::string::npos) << text;
  EXPECT_NE(text.find("layer"), std::string::npos) << text;
}

TEST(Report, SaysWhatNoPlanCanBeat) {
  const Problem problem = testing::training_chain(12, 3);
  Plan plan = make_plan(problem, kUnlimited);
  plan.step_ns = 1.5e6;
  plan.fastest_ns = 1.0e6;
  plan.least_ns = 1.2e6;
  const std::string text = report(problem, plan);
  EXPECT_NE(text.find("less than 1.2 ms: this one is within 25.0 %"), std::string::npos) << text;
  const int64_t least = least_bytes(UnitGraph(problem));
  EXPECT_NE(text.find(std::to_string(least) + " bytes  (one node and"), std::string::npos) << text;
}

TEST(Report, LeavesOutWhatTakesTooMuchMemoryToFind) {
  const Problem problem = testing::training_chain(12, 3);
  const Plan plan = make_plan(problem, kUnlimited);
  const std::string text = report(problem, plan, /*memory_bytes=*/1000);
  EXPECT_EQ(text.find("one node and"), std::string::npos) << text;
  EXPECT_NE(text.find("peak: step "), std::string::npos) << text;
}

// What stands in one place counts once.
TEST(Report, ThePeakIsNotAboveTheArena) {
  Problem problem{.values = {{.name = "a", .bytes = 4096, .part_bytes = 1024},
                             {.name = "b", .bytes = 4096, .part_bytes = 1024},
                             {.name = "c", .bytes = 4096, .part_bytes = 1024},
                             {.name = "y", .bytes = 64, .pinned = true}},
                  .stages = {{.parts = 4}, {.parts = 4}, {}}};
  problem.nodes = {{.name = "make_a", .out = {0}, .stage = 0},
                   {.name = "make_b", .in = {0}, .out = {1}, .stage = 1},
                   {.name = "make_c", .in = {1}, .out = {2}, .stage = 1},
                   {.name = "make_y", .in = {2}, .out = {3}, .stage = 2}};
  const Plan plan = make_plan(problem, kUnlimited);
  ASSERT_EQ(plan.arena_bytes, 4096 + 1024);
  const std::string text = report(problem, plan);
  EXPECT_NE(text.find("5.0 KiB alive"), std::string::npos) << text;
}

TEST(Report, WorksForAnyPlan) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const Problem problem = testing::RandomProblem(seed).make();
    EXPECT_FALSE(report(problem, make_plan(problem, kUnlimited)).empty());
  }
  EXPECT_FALSE(report({}, {}).empty());
}

}  // namespace
}  // namespace snug
