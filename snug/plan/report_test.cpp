#include <gtest/gtest.h>

#include <string>

#include "snug/plan/bytes_text.h"
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

TEST(BytesText, ThreeDigits) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(1023), "1023 B");
  EXPECT_EQ(bytes_text(1536), "1.50 KiB");
  EXPECT_EQ(bytes_text(100 << 10), "100 KiB");
  EXPECT_EQ(bytes_text(1023 << 10), "1023 KiB");
  EXPECT_EQ(bytes_text((1 << 20) - 1), "1.00 MiB");
  EXPECT_EQ(bytes_text(int64_t{5} << 30), "5.00 GiB");
}

}  // namespace
}  // namespace snug
