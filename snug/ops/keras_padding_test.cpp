#include <gtest/gtest.h>

#include "snug/ops/ops.h"
#include "snug/testing/check_op.h"

namespace snug {
namespace {

using ops::keras_padding;
using ops::keras_transposed_axis;
using testing::error_of;
using Pair = std::array<int64_t, 2>;

TEST(KerasPadding, ValidAndCausal) {
  EXPECT_EQ(keras_padding("valid", 28, 3, 2, 1), (Pair{0, 0}));
  EXPECT_EQ(keras_padding("causal", 10, 3, 1, 2), (Pair{4, 0}));
  EXPECT_EQ(keras_padding("causal", 10, 1, 1, 1), (Pair{0, 0}));
}

TEST(KerasPadding, SamePutsTheOddPixelAfter) {
  EXPECT_EQ(keras_padding("same", 28, 3, 1, 1), (Pair{1, 1}));
  EXPECT_EQ(keras_padding("same", 28, 3, 2, 1), (Pair{0, 1}));
  EXPECT_EQ(keras_padding("same", 7, 4, 1, 1), (Pair{1, 2}));
  EXPECT_EQ(keras_padding("same", 224, 7, 2, 1), (Pair{2, 3}));
  EXPECT_EQ(keras_padding("same", 9, 3, 1, 2), (Pair{2, 2}));
  EXPECT_EQ(keras_padding("same", 7, 1, 2, 1), (Pair{0, 0}));
}

TEST(KerasPadding, Refuses) {
  EXPECT_EQ(error_of([] { keras_padding("full", 9, 3, 1, 1); }),
            "padding: \"full\" is not known; use \"valid\", \"same\" or \"causal\"");
  EXPECT_EQ(error_of([] { keras_padding("same", 9, 3, 0, 1); }),
            "padding: size 9, kernel 3, stride 0 and dilation 1 must each be 1 or more");
  EXPECT_EQ(error_of([] { keras_padding("same", 9, 3, 1, int64_t{1} << 62); }),
            "padding: size 9, kernel 3, stride 1 and dilation 4611686018427387904 must each be at "
            "most 2147483647");
}

// As TensorFlow: the stretch of the scattered canvas that is the result.
TEST(KerasTransposedAxis, SizesAndPadding) {
  const auto expect = [](const ops::TransposedAxis& axis, int64_t size, const Pair& padding) {
    EXPECT_EQ(axis.size, size);
    EXPECT_EQ(axis.padding, padding);
  };
  expect(keras_transposed_axis("same", 4, 3, 2, 1), 8, {0, 1});
  expect(keras_transposed_axis("same", 4, 5, 2, 1), 8, {1, 2});
  expect(keras_transposed_axis("same", 4, 4, 2, 1), 8, {1, 1});
  expect(keras_transposed_axis("same", 4, 3, 1, 1), 4, {1, 1});
  expect(keras_transposed_axis("same", 4, 2, 3, 1), 12, {0, 0});
  expect(keras_transposed_axis("same", 4, 3, 1, 2), 4, {2, 2});
  expect(keras_transposed_axis("valid", 4, 2, 2, 1), 8, {0, 0});
  expect(keras_transposed_axis("valid", 4, 2, 3, 1), 12, {0, 0});
  expect(keras_transposed_axis("valid", 4, 5, 2, 1), 11, {0, 0});
  expect(keras_transposed_axis("same", 4, 3, 2, 1, 1), 8, {0, 1});
  expect(keras_transposed_axis("same", 4, 3, 2, 1, 0), 7, {1, 1});
  expect(keras_transposed_axis("valid", 4, 3, 2, 1, 1), 10, {0, 0});
}

// conv2d_transpose must accept what the rule gives.
TEST(KerasTransposedAxis, FitsTheOp) {
  for (int64_t size = 1; size < 5; ++size) {
    for (int64_t kernel = 1; kernel < 6; ++kernel) {
      for (int64_t stride = 1; stride < 4; ++stride) {
        for (int64_t extra = -1; extra < stride; ++extra) {
          for (const char* name : {"same", "valid"}) {
            std::optional<int64_t> output_padding;
            if (extra >= 0) output_padding = extra;
            const auto axis = keras_transposed_axis(name, size, kernel, stride, 1, output_padding);
            if (axis.size < 1) continue;
            Graph graph;
            const Value x = graph.input("x", {DType::float32, {kRows, size, 1, 2}});
            const Value w = graph.input("w", {DType::float32, {kernel, 1, 3, 2}});
            const Value y = ops::conv2d_transpose(
                x, w, {axis.size, 1},
                {.strides = {stride, 1},
                 .padding = {.top = axis.padding[0], .bottom = axis.padding[1]}});
            EXPECT_EQ(y.shape(), (Shape{kRows, axis.size, 1, 3}));
          }
        }
      }
    }
  }
}

TEST(KerasTransposedAxis, Refuses) {
  EXPECT_EQ(error_of([] { keras_transposed_axis("causal", 4, 3, 1, 1); }),
            "transposed padding: \"causal\" is not known; use \"valid\" or \"same\"");
  EXPECT_EQ(error_of([] { keras_transposed_axis("same", 4, 3, 2, 1, 2); }),
            "transposed padding: output_padding is 2; it must be 0 or more and less than the "
            "stride 2");
  EXPECT_EQ(error_of([] { keras_transposed_axis("same", 0, 3, 2, 1); }),
            "transposed padding: size 0, kernel 3, stride 2 and dilation 1 must each be 1 or more");
}

}  // namespace
}  // namespace snug
