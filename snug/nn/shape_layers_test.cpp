#include "snug/nn/shape_layers.h"

#include <numeric>

#include "snug/testing/layer_call.h"
#include "snug/testing/layer_run.h"

namespace snug::testing {
namespace {

// What the layer makes of 0, 1, 2, ...
Doubles on_numbers(const Layer& layer, const Shape& shape) {
  LayerRun run(layer, {{DType::float32, shape}}, {.gradients = false});
  run.prepare();
  Doubles numbers(static_cast<size_t>(shape.size()));
  std::iota(numbers.begin(), numbers.end(), 0);
  run.give(run.inputs()[0], numbers);
  run.run();
  return run.read(run.y);
}

TEST(ShapeLayers, Shapes) {
  EXPECT_EQ(result_of(Flatten(), {4, 3, 2}), (Shape{kRows, 24}));
  EXPECT_EQ(result_of(Flatten(), {}), (Shape{kRows, 1}));
  EXPECT_EQ(result_of(Reshape({4, -1}), {24}), (Shape{kRows, 4, 6}));
  EXPECT_EQ(result_of(Reshape({6, 4}), {24}), (Shape{kRows, 6, 4}));
  EXPECT_EQ(result_of(Permute({3, 1, 2}), {4, 5, 6}), (Shape{kRows, 6, 4, 5}));
  EXPECT_EQ(result_of(RepeatVector(3), {5}), (Shape{kRows, 3, 5}));
  EXPECT_EQ(result_of(ZeroPadding1D(), {5, 2}), (Shape{kRows, 7, 2}));
  EXPECT_EQ(result_of(ZeroPadding2D({{0, 1}, {2, 0}}), {4, 5, 2}), (Shape{kRows, 5, 7, 2}));
  EXPECT_EQ(result_of(ZeroPadding2D({1, 2}), {4, 5, 2}), (Shape{kRows, 6, 9, 2}));
  EXPECT_EQ(result_of(Cropping1D({1, 2}), {5, 2}), (Shape{kRows, 2, 2}));
  EXPECT_EQ(result_of(Cropping2D(), {4, 5, 2}), (Shape{kRows, 4, 5, 2}));
  EXPECT_EQ(result_of(Cropping2D({1, {0, 2}}), {4, 5, 2}), (Shape{kRows, 2, 3, 2}));
  EXPECT_EQ(result_of(UpSampling1D(3), {5, 2}), (Shape{kRows, 15, 2}));
  EXPECT_EQ(result_of(UpSampling2D({2, 3}, {.interpolation = "bilinear"}), {4, 5, 2}),
            (Shape{kRows, 8, 15, 2}));
}

TEST(ShapeLayers, OneAxis) {
  EXPECT_EQ(on_numbers(ZeroPadding1D({1, 0}), {1, 2, 2}), (Doubles{0, 0, 0, 1, 2, 3}));
  EXPECT_EQ(on_numbers(Cropping1D({1, 0}), {1, 3, 1}), (Doubles{1, 2}));
  EXPECT_EQ(on_numbers(UpSampling1D(2), {1, 2, 2}), (Doubles{0, 1, 0, 1, 2, 3, 2, 3}));
}

TEST(ShapeLayers, KeepTheType) {
  const Symbol x = Input({4, 3}, {.dtype = DType::int32});
  for (const Layer& layer : {Flatten(), Reshape({12}), Permute({2, 1}), Cropping1D(1)})
    EXPECT_EQ(layer(x).type().dtype, DType::int32) << layer->class_name();
}

TEST(ShapeLayers, MessagesAboutShapes) {
  EXPECT_EQ(error_on(Reshape({5, 5}), {24}),
            "reshape: [rows, 24] has 24 elements a row, which do not fit target_shape {5, 5} (25)");
  EXPECT_EQ(error_on(Reshape({5, -1}), {24}),
            "reshape: [rows, 24] has 24 elements a row, which do not fit target_shape {5, -1} (a "
            "multiple of 5)");
  EXPECT_EQ(error_on(Permute({0, 1}), {4, 5}),
            "permute: dims {0, 1} for [rows, 4, 5]; list each axis behind the rows once, counted "
            "from 1 (1 to 2)");
  EXPECT_EQ(error_on(RepeatVector(3), {4, 5}),
            "repeat_vector: expected [rows, features], got [rows, 4, 5]; put a Flatten layer "
            "before it");
  EXPECT_EQ(error_on(Cropping1D(3), {5, 2}),
            "cropping1d: of axis 1 of [rows, 5, 2], 3 and 3 elements are cut off, which leaves "
            "none");
  expect_contains(error_on(ZeroPadding2D(), {5, 2}), "zero_padding2d: expected [rows, height");
  expect_contains(error_on(UpSampling2D(), {5, 2}), "up_sampling2d: expected [rows, height");
}

TEST(ShapeLayers, MessagesAboutSettings) {
  EXPECT_EQ(error_on(Reshape({-1, -1}), {24}),
            "reshape: target_shape is {-1, -1}; one extent may be -1, the others must be 1 or "
            "more");
  EXPECT_EQ(error_on(RepeatVector(0), {4}),
            "repeat_vector: n is 0; give how often each row is repeated, 1 or more");
  EXPECT_EQ(error_on(ZeroPadding1D(-1), {5, 2}),
            "zero_padding1d: -1 and -1 elements; none may be negative");
  EXPECT_EQ(error_on(UpSampling2D(2, {.interpolation = "cubic"}), {4, 4, 1}),
            "up_sampling2d: there is no interpolation \"cubic\"; use \"nearest\" or \"bilinear\"");
  expect_contains(error_on(UpSampling1D(0), {5, 2}), "up_sampling1d: size is 0");
}

}  // namespace
}  // namespace snug::testing
