#include "snug/kernels/probability.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace snug::kernels {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// What Keras gives on TensorFlow.
TEST(Probability, ClipAtBothEnds) {
  const float p[] = {1, 0, 0, 1, 0, 0};
  const int32_t labels[] = {1, 0};
  float loss[2];
  sparse_cross_entropy(p, labels, loss, 2, 3);
  EXPECT_NEAR(loss[0], 16.118095, 1e-5);
  EXPECT_NEAR(loss[1], 2e-7, 1e-7);
  const float targets[] = {0, 1, 0, 1, 0, 0};
  dense_cross_entropy(p, targets, loss, 2, 3);
  EXPECT_NEAR(loss[0], 16.118095, 1e-5);
  EXPECT_NEAR(loss[1], 1.2e-7, 1e-7);
  const float binary[] = {0, 1}, ones[] = {1, 0};
  binary_cross_entropy(binary, ones, loss, 2);
  EXPECT_NEAR(loss[0], 16.118095, 1e-5);
  EXPECT_NEAR(loss[1], 15.942385, 1e-5);
}

TEST(Probability, NoGradientWhereTheClipBinds) {
  const float p[] = {0, 0.5f, 1}, ones[] = {1, 1, 1};
  float dp[3];
  binary_cross_entropy_gradient(p, ones, ones, dp, 3);
  EXPECT_EQ(dp[0], 0);
  EXPECT_EQ(dp[1], -2);
  EXPECT_EQ(dp[2], 0);
  const int32_t label = 0;
  sparse_cross_entropy_gradient(p, &label, ones, dp, 1, 3);
  EXPECT_EQ(dp[0], 0);
  EXPECT_NEAR(dp[1], 1 / 1.5, 1e-6);
  EXPECT_EQ(dp[2], 0);
  // 0 / 1.5 is clipped, so its target does not count.
  const float targets[] = {0.2f, 0.3f, 0.5f};
  dense_cross_entropy_gradient(p, targets, ones, dp, 1, 3);
  EXPECT_NEAR(dp[0], 0.8 / 1.5, 1e-6);
  EXPECT_NEAR(dp[1], 0.8 / 1.5 - 0.3 / 0.5, 1e-6);
  EXPECT_NEAR(dp[2], 0.8 / 1.5 - 0.5, 1e-6);
}

TEST(Probability, NanPasses) {
  const float p[] = {0.5f, kNan}, targets[] = {1, 0};
  const int32_t label = 0;
  float y[2];
  sparse_cross_entropy(p, &label, y, 1, 2);
  EXPECT_TRUE(std::isnan(y[0]));
  dense_cross_entropy(p, targets, y, 1, 2);
  EXPECT_TRUE(std::isnan(y[0]));
  binary_cross_entropy(p, targets, y, 2);
  EXPECT_TRUE(std::isnan(y[1]));
  binary_cross_entropy_gradient(p, targets, targets + 1, y, 1);
  EXPECT_TRUE(std::isfinite(y[0]));
  binary_cross_entropy_gradient(p + 1, targets, targets, y, 1);
  EXPECT_TRUE(std::isnan(y[0]));
}

}  // namespace
}  // namespace snug::kernels
