#include "snug/nn/convolution.h"

#include "snug/testing/layer_call.h"

namespace snug::testing {
namespace {

TEST(Convolution, ShapesAndWeights) {
  const Layer conv =
      Conv2D(8, {3, 2}, {.strides = {2, 2}, .padding = "same", .activation = "relu"});
  EXPECT_EQ(result_of(conv, {9, 8, 4}), (Shape{kRows, 5, 4, 8}));
  EXPECT_EQ(weights_of(conv), "kernel [3, 2, 4, 8], bias [8]");
  const Layer grouped = Conv2D(8, 3, {.groups = 2, .use_bias = false});
  EXPECT_EQ(result_of(grouped, {9, 8, 4}), (Shape{kRows, 7, 6, 8}));
  EXPECT_EQ(weights_of(grouped), "kernel [3, 3, 2, 8]");
  const Layer causal = Conv1D(6, 3, {.padding = "causal", .dilation_rate = 2});
  EXPECT_EQ(result_of(causal, {10, 4}), (Shape{kRows, 10, 6}));
  EXPECT_EQ(weights_of(causal), "kernel [3, 4, 6], bias [6]");
}

TEST(Convolution, ShapesOfTheOthers) {
  const Layer depthwise = DepthwiseConv2D(3, {.strides = 2, .depth_multiplier = 2});
  EXPECT_EQ(result_of(depthwise, {9, 9, 4}), (Shape{kRows, 4, 4, 8}));
  EXPECT_EQ(weights_of(depthwise), "kernel [3, 3, 4, 2], bias [8]");
  const Layer separable = SeparableConv2D(5, {3, 3}, {.padding = "same"});
  EXPECT_EQ(result_of(separable, {9, 9, 4}), (Shape{kRows, 9, 9, 5}));
  EXPECT_EQ(weights_of(separable),
            "depthwise_kernel [3, 3, 4, 1], pointwise_kernel [1, 1, 4, 5], bias [5]");
  const Layer transposed = Conv2DTranspose(5, 3, {.strides = 2, .padding = "same"});
  EXPECT_EQ(result_of(transposed, {4, 5, 2}), (Shape{kRows, 8, 10, 5}));
  EXPECT_EQ(weights_of(transposed), "kernel [3, 3, 5, 2], bias [5]");
  EXPECT_EQ(result_of(Conv2DTranspose(5, 3, {.strides = 2, .output_padding = 1}), {4, 5, 2}),
            (Shape{kRows, 10, 12, 5}));
}

TEST(Convolution, MessagesAboutShapes) {
  EXPECT_EQ(error_on(Conv2D(8, 3), {28, 28}),
            "conv2d: expected [rows, height, width, channels], got [rows, 28, 28]; put a Reshape "
            "layer before it, for example with {28, 28, 1} for gray images");
  EXPECT_EQ(error_on(Conv1D(8, 3), {28}),
            "conv1d: expected [rows, steps, channels], got [rows, 28]; put a Reshape layer before "
            "it, for example with {steps, 1}");
  expect_contains(error_on(Conv2D(8, 5, {.name = "deep"}), {3, 3, 4}),
                  "deep: conv2d: the kernel [5, 5, 4, 8] reaches over 5 x 5 pixels");
  EXPECT_EQ(error_on(Conv2D(8, 3, {.groups = 3}), {9, 9, 4}),
            "conv2d: groups = 3 must divide the 4 channels of [rows, 9, 9, 4] and the 8 filters");
  const Layer shared = Conv2D(8, 3);
  result_of(shared, {9, 9, 4});
  expect_contains(error_on(shared, {9, 9, 5}), "conv2d: its weights are for 4 channels");
}

TEST(Convolution, MessagesAboutSettings) {
  EXPECT_EQ(error_on(Conv2D(0, 3), {9, 9, 4}),
            "conv2d: filters is 0; give the number of filters, 1 or more");
  EXPECT_EQ(
      error_on(Conv2D(8, 0), {9, 9, 4}),
      "conv2d: the window (kernel_size; pool_size of pooling) is 0 x 0; each must be 1 or more");
  EXPECT_EQ(error_on(Conv2D(8, 3, {.padding = "causal"}), {9, 9, 4}),
            "conv2d: \"causal\" padding is for Conv1D alone; use \"same\" or \"valid\"");
  EXPECT_EQ(error_on(Conv1D(8, 3, {.padding = "full"}), {9, 4}),
            "conv1d: there is no padding \"full\"; use \"valid\", \"causal\" or \"same\"");
  expect_contains(error_on(DepthwiseConv2D(3, {.depth_multiplier = 0}), {9, 9, 4}),
                  "depthwise_conv2d: depth_multiplier is 0");
  expect_contains(error_on(Conv2DTranspose(5, 3, {.strides = 2, .output_padding = 2}), {4, 4, 1}),
                  "conv2d_transpose: transposed padding: output_padding is 2");
}

}  // namespace
}  // namespace snug::testing
