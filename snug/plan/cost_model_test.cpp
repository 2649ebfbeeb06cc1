#include "snug/plan/cost_model.h"

#include <gtest/gtest.h>

#include "snug/autodiff/gradients.h"
#include "snug/ops/ops.h"

namespace snug {
namespace {

class CostModelTest : public ::testing::Test {
 protected:
  CostModelTest() {
    const Value x = graph_.input("x", {DType::float32, {kRows, 64}});
    product_ = ops::matmul(x, graph_.variable("w", {DType::float32, {64, 64}}));
    curve_ = ops::tanh(x);
    costs_.threads = 2;
  }

  double ns(const Value& value, const StageWork& work) const {
    return node_ns(costs_, *value.producer(), work);
  }

  Graph graph_;
  Value product_, curve_;
  CostModel costs_;
};

TEST_F(CostModelTest, AProductTakesItsFlopsAndItsRows) {
  costs_.node_ns = 0;
  costs_.memory = costs_.cache = {8, 16};
  const double flops = 2.0 * 1024 * 64 * 64, bytes = 4.0 * (2 * 1024 * 64 + 64 * 64);
  EXPECT_NEAR(ns(product_, {.rows = 1024, .part_rows = 1024}),
              flops / costs_.matmul.one + bytes / 8, 1);
  costs_.matmul = {1, 1};
  EXPECT_NEAR(ns(product_, {.rows = 1024, .part_rows = 1024}), flops + bytes / 8, 1);
}

TEST_F(CostModelTest, ALoopOverElementsTakesTheLongerOfBoth) {
  costs_.node_ns = 0;
  costs_.memory = costs_.cache = {1, 1};
  costs_.other = {1000, 1000};
  const StageWork work{.rows = 1024, .part_rows = 1024};
  EXPECT_NEAR(ns(curve_, work), 4.0 * 2 * 1024 * 64, 1);
  costs_.other = {1e-3, 1e-3};
  const double slow = ns(curve_, work);
  costs_.memory = costs_.cache = {1000, 1000};
  EXPECT_EQ(ns(curve_, work), slow);
}

// A large picture is shared out in bands; kernels of one pixel are matrix products.
TEST_F(CostModelTest, AConvolutionOfOneRow) {
  const Value large = graph_.input("large", {DType::float32, {kRows, 128, 128, 16}});
  const Value small = graph_.input("small", {DType::float32, {kRows, 8, 8, 16}});
  const Value kernel = graph_.variable("k", {DType::float32, {3, 3, 16, 16}});
  const Value pixel = graph_.variable("p", {DType::float32, {1, 1, 16, 16}});
  const StageWork one{.rows = 4, .part_rows = 1, .parts = 4};
  StageWork two = one;
  two.threads = 2;
  const Value bands = ops::conv2d(large, kernel), whole = ops::conv2d(small, kernel);
  EXPECT_LT(ns(bands, two), 0.7 * ns(bands, one));
  EXPECT_EQ(ns(whole, two), ns(whole, one));
  const Value points = ops::conv2d(large, pixel);
  const double before = ns(points, one), of_kernel = ns(bands, one);
  costs_.matmul.one *= 2;
  EXPECT_LT(ns(points, one), before);
  EXPECT_EQ(ns(bands, one), of_kernel);
}

TEST_F(CostModelTest, ThreadsHelpAndStartingThemCosts) {
  const StageWork one{.rows = 4096, .part_rows = 4096};
  StageWork two = one;
  two.threads = 2;
  EXPECT_LT(ns(product_, two), ns(product_, one));
  const StageWork few{.rows = 1, .part_rows = 1},
      few_on_two{.rows = 1, .part_rows = 1, .threads = 2};
  EXPECT_GT(ns(product_, few_on_two), ns(product_, few));
}

// Where the weights of the other nodes do not leave them in the cache.
TEST_F(CostModelTest, WeightsComeFromMemoryInADeepStage) {
  StageWork work{.rows = 256, .part_rows = 1, .parts = 256};
  const double cached = ns(product_, work), curve = ns(curve_, work);
  work.fixed_bytes = 32 << 20;
  costs_.weights = {1, 1};
  EXPECT_NEAR(ns(product_, work) - cached, 256.0 * 64 * 64 * 4, 0.05 * 256 * 64 * 64 * 4);
  EXPECT_EQ(ns(curve_, work), curve) << "it has none";
}

TEST_F(CostModelTest, OnlyProductsTakeThreadsForLittle) {
  const StageWork one{.rows = 2, .part_rows = 2}, two{.rows = 2, .part_rows = 2, .threads = 2};
  EXPECT_EQ(ns(curve_, two), ns(curve_, one));
  EXPECT_GT(ns(product_, two), ns(product_, one));
}

TEST_F(CostModelTest, SmallerPartsReadTheWeightsAgain) {
  const auto in_parts = [&](int64_t part_rows, int lanes) {
    return ns(product_, {.rows = 256,
                         .part_rows = part_rows,
                         .parts = static_cast<int>(256 / part_rows),
                         .lanes = lanes,
                         .threads = lanes == 1 ? 2 : 1,
                         .cores = 2});
  };
  for (const int lanes : {1, 2}) {
    EXPECT_LT(in_parts(128, lanes), in_parts(16, lanes));
    EXPECT_LT(in_parts(16, lanes), in_parts(1, lanes));
  }
  EXPECT_LT(in_parts(1, 2), in_parts(1, 1)) << "a part of one row in one lane has one thread";
}

TEST_F(CostModelTest, APartOfOneRowKeepsOneThreadBusy) {
  StageWork work{.rows = 64, .part_rows = 1, .parts = 64};
  const double one = ns(product_, work);
  work.threads = 2;
  EXPECT_DOUBLE_EQ(ns(product_, work), one);
  work.part_rows = 2;
  work.parts = 32;
  costs_.fork_ns = 0;
  EXPECT_LT(ns(product_, work), one);
}

// Lanes wait for nobody, and each goes through its own rows only.
TEST_F(CostModelTest, AProductIsSlowerSharedOutThanInLanes) {
  costs_.fork_ns = 0;
  const StageWork whole{.rows = 64, .part_rows = 64, .threads = 2, .cores = 2};
  const StageWork lanes{.rows = 64, .part_rows = 32, .parts = 2, .lanes = 2, .cores = 2};
  const Value image = graph_.input("image", {DType::float32, {kRows, 16, 16, 32}});
  const Value kernel = graph_.variable("k", {DType::float32, {3, 3, 32, 32}});
  const Value y = ops::conv2d(image, kernel);
  const Value dw = gradients(ops::sum(y), {kernel})[0];
  const double forward = ns(y, whole) / ns(y, lanes), gradient = ns(dw, whole) / ns(dw, lanes);
  EXPECT_GT(forward, 1.05);
  EXPECT_GT(gradient, forward);
}

TEST_F(CostModelTest, ARestCountsByItsRows) {
  const StageWork even{.rows = 128, .part_rows = 64, .parts = 2, .lanes = 2, .cores = 2};
  StageWork rest = even;
  rest.rows = 65;
  EXPECT_LT(ns(curve_, rest), ns(curve_, even));
  EXPECT_GT(ns(curve_, rest), ns(curve_, even) / 2);
}

TEST_F(CostModelTest, MovingIsBoundByMemory) {
  EXPECT_DOUBLE_EQ(move_ns(costs_, 1000, 1), 1000 / costs_.memory.one);
  EXPECT_DOUBLE_EQ(move_ns(costs_, 1000, 2), 1000 / costs_.memory.all);
  EXPECT_DOUBLE_EQ(move_ns(costs_, 1000, 64), 1000 / costs_.memory.all) << "no more than all";
}

// What passes between stages comes from the nearest cache that all of a stage's has room in.
TEST_F(CostModelTest, WhatPassesBetweenStagesTakesAPass) {
  costs_.cache = {40, 80};
  costs_.near = {16, 28};
  costs_.memory = {10, 16};
  EXPECT_EQ(pass_ns(costs_, 80'000, 1 << 20, 2), 1000);
  EXPECT_EQ(pass_ns(costs_, 28'000, 8 << 20, 2), 1000);
  EXPECT_EQ(pass_ns(costs_, 16'000, 64 << 20, 2), 1000);
  EXPECT_EQ(pass_ns(costs_, 10'000, 64 << 20, 1), 1000);
  EXPECT_EQ(pass_ns(costs_, 0, 64 << 20, 1), 0);
}

}  // namespace
}  // namespace snug
