#include "snug/plan/recipe.h"

#include <gtest/gtest.h>

#include "snug/base/error.h"
#include "snug/plan/random_problem.h"
#include "snug/plan/squeezer.h"
#include "snug/plan/transfers.h"

namespace snug {
namespace {

void expect_same(const Plan& one, const Plan& other) {
  EXPECT_EQ(one.arena_bytes, other.arena_bytes);
  EXPECT_EQ(one.file_bytes, other.file_bytes);
  EXPECT_EQ(one.transfers.size(), other.transfers.size());
  ASSERT_EQ(one.steps.size(), other.steps.size());
  for (size_t i = 0; i < one.steps.size(); ++i) {
    EXPECT_EQ(one.steps[i].node, other.steps[i].node);
    EXPECT_EQ(one.steps[i].in, other.steps[i].in);
    EXPECT_EQ(one.steps[i].out, other.steps[i].out);
  }
  ASSERT_EQ(one.buffers.size(), other.buffers.size());
  for (size_t i = 0; i < one.buffers.size(); ++i)
    EXPECT_EQ(one.buffers[i].offset, other.buffers[i].offset);
}

// Whole or in parts, with values computed again and on the disk.
TEST(Recipe, MakesTheSamePlanAgain) {
  int spilled = 0, again = 0;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    const Problem problem =
        seed % 2 == 0 ? testing::RandomProblem(seed).make() : testing::training_chain(30, seed);
    Squeezer squeezer(problem, {.allowed = seed % 4 != 3},
                      {.read = 500, .write = 500, .start_ns = 1, .drag = 0});
    const int64_t free = squeezer.free_plan().arena_bytes;
    for (const int64_t capacity : {free, free * 3 / 4, free / 2}) {
      const std::optional<Plan> plan = squeezer.plan(capacity, Effort::full);
      if (!plan) continue;
      const Plan remade = plan_of(problem, recipe_of(*plan, capacity));
      expect_same(*plan, remade);
      EXPECT_NO_THROW(validate(with_transfers(problem, remade.transfers), remade));
      spilled += plan->transfers.empty() ? 0 : 1;
      again += plan->steps.size() > problem.nodes.size() + plan->transfers.size() ? 1 : 0;
    }
  }
  EXPECT_GT(spilled, 3);
  EXPECT_GT(again, 3);
}

TEST(Recipe, OfAnotherProblemIsRefused) {
  const Problem problem = testing::training_chain(10, 1);
  const Plan plan = make_plan(problem, kUnlimited);
  Recipe recipe = recipe_of(plan, plan.arena_bytes);
  recipe.arena_bytes -= 64;
  EXPECT_THROW(plan_of(problem, recipe), InternalError);
}

}  // namespace
}  // namespace snug
