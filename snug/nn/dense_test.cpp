#include "snug/nn/dense.h"

#include "snug/testing/layer_call.h"

namespace snug::testing {
namespace {

TEST(Dense, ShapesAndWeights) {
  const Layer layer = Dense(5, "relu");
  EXPECT_EQ(result_of(layer, {3}), (Shape{kRows, 5}));
  EXPECT_EQ(weights_of(layer), "kernel [3, 5], bias [5]");
  EXPECT_EQ(result_of(Dense(5), {7, 3}), (Shape{kRows, 7, 5}));
  EXPECT_EQ(result_of(Dense(5), {3}, DType::uint8), (Shape{kRows, 5}));
  const Layer bare = Dense(2, {.use_bias = false, .kernel_regularizer = l2(1e-4), .name = "head"});
  result_of(bare, {3});
  EXPECT_EQ(weights_of(bare), "kernel [3, 2]");
  EXPECT_EQ(bare->name, "head");
}

TEST(Dense, Messages) {
  EXPECT_EQ(error_on(Dense(5), {}),
            "dense: expected [rows, ..., features], got [rows]; put a Reshape layer with {1} "
            "before it for rows of one number");
  EXPECT_EQ(error_on(Dense(0), {3}), "dense: units is 0; give the number of outputs, 1 or more");
  expect_contains(error_of([] { Dense(5, "rleu"); }), "did you mean \"relu\"");
  const Layer shared = Dense(5, {.name = "shared"});
  result_of(shared, {3});
  EXPECT_EQ(error_on(shared, {4}),
            "shared: its kernel is for 3 features in the last axis, got [rows, 4]; put a Flatten "
            "layer before it, or use another Dense layer for this input");
  const Symbol a = Input({3}), b = Input({3});
  EXPECT_EQ(error_of([&] {
              Dense(5)({a, b});
            }),
            "dense: it takes one input, but was called on 2; join them first (Concatenate, Add)");
}

}  // namespace
}  // namespace snug::testing
