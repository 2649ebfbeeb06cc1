#include "snug/plan/memory_map.h"

#include <gtest/gtest.h>

#include "snug/plan/random_problem.h"

namespace snug {
namespace {

size_t count(const std::string& text, const std::string& word) {
  size_t found = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

TEST(MemoryMap, HasABoxForEveryValueOfTheArena) {
  const Problem problem = testing::training_chain(4, 1);
  const Plan plan = make_plan(problem, kUnlimited);
  const std::string page = memory_map_html(problem, plan, "chain");
  for (const ProblemValue& value : problem.values)
    EXPECT_GE(count(page, "[\"" + value.name + "\","), 1U) << value.name;
  EXPECT_EQ(count(page, "@"), 0U) << "a mark was not replaced";
}

TEST(MemoryMap, ShowsWhatALaneHolds) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const Problem problem = testing::RandomProblem(seed).make();
    const Plan plan = make_plan(problem, kUnlimited);
    size_t local = 0;
    for (const Buffer& buffer : plan.buffers) local += buffer.local && buffer.bytes > 0;
    EXPECT_EQ(count(memory_map_html(problem, plan, "lanes"), " (first lane)\""), local);
  }
}

TEST(MemoryMap, NamesCannotBreakThePage) {
  Problem problem = testing::training_chain(2, 1);
  problem.values[1].name = "</script><b>\"\\";
  const std::string page = memory_map_html(problem, make_plan(problem, kUnlimited), "<a & b>");
  EXPECT_EQ(count(page, "</script>"), 1U);
  EXPECT_NE(page.find("&lt;a &amp; b>"), std::string::npos);
}

TEST(MemoryMap, OfNothing) {
  const Problem problem{.stages = {{}}};
  EXPECT_NE(memory_map_html(problem, {}, "nothing").find("</html>"), std::string::npos);
}

}  // namespace
}  // namespace snug
