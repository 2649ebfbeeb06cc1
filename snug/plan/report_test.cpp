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

TEST(Report, WorksForAnyPlan) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const Problem problem = testing::RandomProblem(seed).make();
    EXPECT_FALSE(report(problem, make_plan(problem, kUnlimited)).empty());
  }
  EXPECT_FALSE(report({}, {}).empty());
}

}  // namespace
}  // namespace snug
