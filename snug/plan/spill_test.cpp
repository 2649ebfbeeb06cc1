#include "snug/plan/spill.h"

#include <gtest/gtest.h>

#include "snug/base/error.h"
#include "snug/plan/random_problem.h"
#include "snug/plan/squeezer.h"
#include "snug/plan/transfers.h"

namespace snug {
namespace {

using testing::RandomProblem;
using testing::training_chain;

constexpr SpillLimits kAllowed{.allowed = true};
// Some hundred bytes a nanosecond: as fast as the chains' nodes are cheap.
constexpr DiskSpeed kFast{.read = 500, .write = 500, .start_ns = 1, .drag = 0};
constexpr DiskSpeed kSlow{.read = 0.001, .write = 0.001, .start_ns = 1e6};

int transfers(const Plan& plan, Transfer what) {
  return static_cast<int>(std::ranges::count(plan.transfers, what, &PlanTransfer::what));
}

TEST(Spill, PlansAreValidAndWithinTheCapacity) {
  int spilled = 0;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    const Problem problem = training_chain(10 + static_cast<int>(seed) * 4, seed);
    Squeezer squeezer(problem, kAllowed, kFast);
    const int64_t free = squeezer.free_plan().arena_bytes, least = squeezer.least_bytes();
    for (const double share : {0.1, 0.3, 0.6, 0.9}) {
      const auto capacity = least + static_cast<int64_t>(share * static_cast<double>(free - least));
      const auto plan = squeezer.plan(capacity, Effort::full);
      if (!plan) continue;
      EXPECT_LE(plan->arena_bytes, capacity);
      EXPECT_NO_THROW(validate(with_transfers(problem, plan->transfers), *plan)) << seed;
      EXPECT_EQ(transfers(*plan, Transfer::start_write), transfers(*plan, Transfer::end_write));
      EXPECT_EQ(transfers(*plan, Transfer::start_read), transfers(*plan, Transfer::end_read));
      spilled += plan->transfers.empty() ? 0 : 1;
    }
  }
  EXPECT_GT(spilled, 12);
}

TEST(Spill, IsTakenWhereItIsFasterAndLeftWhereItIsNot) {
  const Problem problem = training_chain(60, 3);
  Squeezer without(problem), fast(problem, kAllowed, kFast), slow(problem, kAllowed, kSlow);
  const int64_t capacity = without.free_plan().arena_bytes / 2;
  const auto recomputed = without.plan(capacity, Effort::full);
  const auto spilled = fast.plan(capacity, Effort::full);
  const auto kept = slow.plan(capacity, Effort::full);
  ASSERT_TRUE(recomputed && spilled && kept);
  EXPECT_FALSE(spilled->transfers.empty());
  EXPECT_LT(predicted_ns(problem, *spilled), predicted_ns(problem, *recomputed));
  EXPECT_TRUE(kept->transfers.empty());
}

TEST(Spill, GoesLowerThanComputingAgain) {
  const Problem problem = training_chain(20, 5);
  Squeezer without(problem), with(problem, kAllowed, kFast);
  EXPECT_LE(least_plans({&with, 1}).least.budget_bytes,
            least_plans({&without, 1}).least.budget_bytes);
}

TEST(Spill, HoldsTheLimitOfTheFile) {
  const Problem problem = training_chain(60, 3);
  Squeezer free(problem, kAllowed, kFast);
  const int64_t capacity = free.free_plan().arena_bytes / 2;
  const auto plan = free.plan(capacity, Effort::full);
  ASSERT_TRUE(plan && plan->file_bytes > 0);
  Squeezer limited(problem, {.allowed = true, .most_bytes = plan->file_bytes / 2}, kFast);
  const auto other = limited.plan(capacity, Effort::full);
  ASSERT_TRUE(other);
  EXPECT_LE(other->file_bytes, plan->file_bytes / 2);
}

TEST(Spill, RandomProblems) {
  int spilled = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    Problem problem = RandomProblem(seed).make();
    for (ProblemValue& value : problem.values) {
      value.bytes *= 32;
      value.part_bytes *= 32;
    }
    Squeezer squeezer(problem, kAllowed, kFast);
    const int64_t free = squeezer.free_plan().arena_bytes, least = squeezer.least_bytes();
    for (const double share : {0.2, 0.6}) {
      const auto capacity = least + static_cast<int64_t>(share * static_cast<double>(free - least));
      for (const Effort effort : {Effort::quick, Effort::full}) {
        const auto plan = squeezer.plan(capacity, effort);
        if (!plan) continue;
        EXPECT_LE(plan->arena_bytes, capacity);
        EXPECT_NO_THROW(validate(with_transfers(problem, plan->transfers), *plan)) << seed;
        spilled += plan->transfers.empty() ? 0 : 1;
      }
    }
  }
  EXPECT_GT(spilled, 8);
}

}  // namespace
}  // namespace snug
