#include "snug/optim/schedule.h"

#include <gtest/gtest.h>

#include <cmath>

#include "snug/testing/check_op.h"

namespace snug {
namespace {

using testing::error_of;

TEST(Schedule, KeepsAValueUpToItsBoundary) {
  const SchedulePtr schedule = PiecewiseConstantDecay({2, 5}, {0.5, 0.25, 0.125});
  EXPECT_EQ(schedule->at(0), 0.5f);
  EXPECT_EQ(schedule->at(2), 0.5f);
  EXPECT_EQ(schedule->at(3), 0.25f);
  EXPECT_EQ(schedule->at(5), 0.25f);
  EXPECT_EQ(schedule->at(1'000'000), 0.125f);
}

TEST(Schedule, TakesItsOptions) {
  EXPECT_EQ(ExponentialDecay(1, 4, 0.5, {.staircase = true})->at(7), 0.5f);
  EXPECT_FLOAT_EQ(ExponentialDecay(1, 4, 0.5)->at(2), std::sqrt(0.5f));
  EXPECT_EQ(InverseTimeDecay(1, 4, 1)->at(4), 0.5f);
  EXPECT_EQ(PolynomialDecay(1, 4, {.end_learning_rate = 0.5})->at(100), 0.5f);
  EXPECT_EQ(PolynomialDecay(1, 4, {.end_learning_rate = 0, .cycle = true})->at(5), 0.375f);
  EXPECT_EQ(CosineDecay(1, 4, {.alpha = 0.25})->at(9), 0.25f);
  EXPECT_EQ(CosineDecay(0, 4, {.warmup_target = 1, .warmup_steps = 2})->at(1), 0.5f);
  EXPECT_EQ(CosineDecay(0, 4, {.warmup_target = 1})->at(0), 1.0f);
  EXPECT_EQ(CosineDecayRestarts(1, 4, {.t_mul = 1, .m_mul = 0.5})->at(4), 0.5f);
}

TEST(Schedule, SaysWhatIsWrong) {
  EXPECT_EQ(error_of([] { CosineDecay(0.1, 0); }),
            "CosineDecay: decay_steps is 0; it must be above 0");
  EXPECT_EQ(error_of([] { CosineDecayRestarts(0.1, -3); }),
            "CosineDecayRestarts: first_decay_steps is -3; it must be above 0");
  EXPECT_EQ(error_of([] { CosineDecayRestarts(0.1, 3, {.t_mul = 0}); }),
            "CosineDecayRestarts: t_mul is 0; it must be above 0");
  EXPECT_EQ(error_of([] { ExponentialDecay(NAN, 1, 1); }),
            "ExponentialDecay: initial_learning_rate is nan; it must be a number");
  EXPECT_EQ(error_of([] {
              PiecewiseConstantDecay({5, 2}, {1, 2, 3});
            }),
            "PiecewiseConstantDecay: the boundaries 5, 2 fall; give them in rising order");
  EXPECT_EQ(error_of([] { PiecewiseConstantDecay({5}, {1}); }),
            "PiecewiseConstantDecay: 1 boundaries and 1 values; there must be one more value than "
            "boundaries");
  EXPECT_EQ(error_of([] { make_schedule("Cosine"); }),
            "there is no schedule Cosine; take CosineDecay, CosineDecayRestarts, ExponentialDecay, "
            "InverseTimeDecay, PiecewiseConstantDecay or PolynomialDecay");
}

}  // namespace
}  // namespace snug
