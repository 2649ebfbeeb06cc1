#include "snug/nn/pooling.h"

#include "snug/testing/layer_call.h"
#include "snug/testing/layer_run.h"

namespace snug::testing {
namespace {

TEST(Pooling, Shapes) {
  EXPECT_EQ(result_of(MaxPooling2D(), {9, 8, 4}), (Shape{kRows, 4, 4, 4}));
  EXPECT_EQ(result_of(MaxPooling2D({2, 2}), {9, 8, 4}), (Shape{kRows, 4, 4, 4}));
  EXPECT_EQ(result_of(MaxPooling2D(3, {.strides = 2, .padding = "same"}), {9, 8, 4}),
            (Shape{kRows, 5, 4, 4}));
  EXPECT_EQ(result_of(AveragePooling2D({3, 2}), {9, 8, 4}), (Shape{kRows, 3, 4, 4}));
  EXPECT_EQ(result_of(AveragePooling1D(3), {9, 4}), (Shape{kRows, 3, 4}));
  EXPECT_EQ(result_of(MaxPooling1D(), {9, 4}), (Shape{kRows, 4, 4}));
  EXPECT_EQ(result_of(GlobalMaxPooling1D(), {9, 4}), (Shape{kRows, 4}));
  EXPECT_EQ(result_of(GlobalMaxPooling2D(), {9, 8, 4}), (Shape{kRows, 4}));
  EXPECT_EQ(result_of(GlobalAveragePooling1D({.keepdims = true}), {9, 4}), (Shape{kRows, 1, 4}));
  EXPECT_EQ(result_of(GlobalAveragePooling2D({.keepdims = true}), {9, 8, 4}),
            (Shape{kRows, 1, 1, 4}));
}

TEST(Pooling, Messages) {
  EXPECT_EQ(error_on(MaxPooling2D(), {28, 28}),
            "max_pooling2d: expected [rows, height, width, channels], got [rows, 28, 28]; put a "
            "Reshape layer before it, for example with {28, 28, 1} for gray images");
  EXPECT_EQ(error_on(GlobalAveragePooling1D(), {9, 8, 4}),
            "global_average_pooling1d: expected [rows, steps, channels], got [rows, 9, 8, 4]; put "
            "a Reshape layer before it, for example with {steps, 1}");
  expect_contains(error_on(MaxPooling2D(4), {3, 3, 1}),
                  "max_pooling2d: max_pool2d: windows of 4 x 4 are larger than the image");
  EXPECT_EQ(error_on(AveragePooling1D(0), {9, 4}),
            "average_pooling1d: the window (kernel_size; pool_size of pooling) is 1 x 0; each must "
            "be 1 or more");
  expect_contains(error_on(MaxPooling2D(2, {.padding = "causal"}), {9, 9, 4}), "for Conv1D alone");
}

// As in Keras, a row without any real step has no mean.
TEST(Pooling, MeanOfTheRealSteps) {
  LayerRun run(GlobalAveragePooling1D(), {{DType::float32, {3, 2, 1}}},
               {.mask = Type{DType::boolean, {3, 2}}, .gradients = false});
  run.prepare();
  run.give(run.inputs()[0], {1, 3, 5, 7, 9, 11});
  run.give(run.mask_input(), {1, 1, 0, 1, 0, 0});
  run.run();
  const Doubles y = run.read(run.y);
  EXPECT_EQ(y[0], 2);
  EXPECT_EQ(y[1], 7);
  EXPECT_TRUE(std::isnan(y[2]));
  EXPECT_FALSE(run.output_mask());
}

}  // namespace
}  // namespace snug::testing
