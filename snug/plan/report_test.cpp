#include <gtest/gtest.h>

#include <string>

#include "snug/base/bytes.h"
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

TEST(Report, WorksForAnyPlan) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const Problem problem = testing::RandomProblem(seed).make();
    EXPECT_FALSE(report(problem, make_plan(problem, kUnlimited)).empty());
  }
  EXPECT_FALSE(report({}, {}).empty());
}

}  // namespace
}  // namespace snug
