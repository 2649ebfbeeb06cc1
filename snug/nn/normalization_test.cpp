#include "snug/nn/normalization.h"

#include <cmath>

#include "snug/testing/layer_call.h"
#include "snug/testing/layer_run.h"

namespace snug::testing {
namespace {

TEST(Normalization, ShapesAndWeights) {
  const Layer batch = BatchNormalization();
  EXPECT_EQ(result_of(batch, {5, 4}), (Shape{kRows, 5, 4}));
  EXPECT_EQ(weights_of(batch), "gamma [4], beta [4], moving_mean [4], moving_variance [4]");
  EXPECT_EQ(batch.trainable_weights().size(), 2u);
  const Layer first = BatchNormalization({.axis = 1, .center = false});
  EXPECT_EQ(result_of(first, {5, 4}), (Shape{kRows, 5, 4}));
  EXPECT_EQ(result_of(first, {5, 4, 3}), (Shape{kRows, 5, 4, 3}));
  EXPECT_EQ(weights_of(first), "gamma [5], moving_mean [5], moving_variance [5]");
  const Layer layer = LayerNormalization({.axis = {1, 2}, .scale = false});
  EXPECT_EQ(result_of(layer, {5, 4}), (Shape{kRows, 5, 4}));
  EXPECT_EQ(weights_of(layer), "beta [5, 4]");
  const Layer group = GroupNormalization(-1);
  EXPECT_EQ(result_of(group, {5, 4}), (Shape{kRows, 5, 4}));
  EXPECT_EQ(weights_of(group), "gamma [4], beta [4]");
  const Layer rms = RMSNormalization({.axis = {1, 2}});
  EXPECT_EQ(result_of(rms, {5, 4}), (Shape{kRows, 5, 4}));
  EXPECT_EQ(weights_of(rms), "scale [5, 4]");
  EXPECT_EQ(result_of(UnitNormalization(1), {5, 4}), (Shape{kRows, 5, 4}));
}

Doubles counted(size_t size) {
  Doubles values(size);
  for (size_t i = 0; i < size; ++i) values[i] = std::sin(1.0 + static_cast<double>(i * i % 17));
  return values;
}

Doubles on(const Layer& layer, const Shape& shape, const Doubles& x, bool training = false) {
  LayerRun run(layer, {{DType::float32, shape}}, {.training = training, .gradients = false});
  run.prepare();
  run.give(run.inputs()[0], x);
  run.run();
  return run.read(run.y);
}

// Another axis gives what the last one gives on the transposed input.
TEST(Normalization, OtherAxes) {
  const Doubles x = counted(2 * 3 * 4);
  Doubles swapped(x.size());
  const auto place = [](size_t i) { return i / 12 * 12 + i % 4 * 3 + i % 12 / 4; };
  for (size_t i = 0; i < x.size(); ++i) swapped[place(i)] = x[i];
  const auto expect_same = [&](const Layer& first, const Layer& last, bool training = false) {
    const Doubles a = on(first, {2, 3, 4}, x, training), b = on(last, {2, 4, 3}, swapped, training);
    for (size_t i = 0; i < a.size(); ++i)
      ASSERT_NEAR(a[i], b[place(i)], 1e-6) << first->class_name() << " " << i;
  };
  expect_same(BatchNormalization({.axis = 1}), BatchNormalization(), /*training=*/true);
  expect_same(LayerNormalization({.axis = {1}}), LayerNormalization());
  expect_same(GroupNormalization(3, {.axis = 1}), GroupNormalization(3));
  expect_same(RMSNormalization({.axis = {1}}), RMSNormalization());
  expect_same(UnitNormalization(1), UnitNormalization(2));
}

TEST(Normalization, RootOfTheMeanSquareOverTwoAxes) {
  const Doubles x = counted(2 * 3 * 4), y = on(RMSNormalization({.axis = {1, 2}}), {2, 3, 4}, x);
  for (size_t row = 0; row < 2; ++row) {
    double squares = 0;
    for (size_t i = 0; i < 12; ++i) squares += x[row * 12 + i] * x[row * 12 + i];
    for (size_t i = row * 12; i < row * 12 + 12; ++i)
      EXPECT_NEAR(y[i], x[i] / std::sqrt(squares / 12 + 1e-6), 1e-6);
  }
}

// Frozen, alone or by what is around it, it uses the averages and leaves them alone.
TEST(Normalization, FrozenBatchNormalization) {
  const Shape shape = {4, 3};
  const Layer layer = BatchNormalization();
  const Doubles x = counted(12), inference = on(layer, shape, x);
  layer->trainable = false;
  EXPECT_EQ(on(layer, shape, x, /*training=*/true), inference);
  EXPECT_EQ(layer.get_weights()[2], std::vector<float>(3, 0));
  layer->trainable = true;
  EXPECT_NE(on(layer, shape, x, /*training=*/true), inference);
  EXPECT_NE(layer.get_weights()[2], std::vector<float>(3, 0));

  const auto inside = Network::sequential({Input({3}), BatchNormalization()}, "frozen");
  inside->trainable = false;
  on(Layer(inside), shape, x, /*training=*/true);
  EXPECT_EQ(Layer(inside).get_weights()[2], std::vector<float>(3, 0));
}

TEST(Normalization, Messages) {
  EXPECT_EQ(error_on(BatchNormalization(), {}),
            "batch_normalization: expected [rows, ..., channels], got [rows]; put a Reshape layer "
            "before it");
  expect_contains(error_on(BatchNormalization({.axis = 0}), {4}),
                  "batch_normalization: axis 0 of [rows, 4]: give the axes in order");
  expect_contains(error_on(LayerNormalization({.axis = {2, 1}}), {4, 4}),
                  "layer_normalization: axis 1 of [rows, 4, 4]: give the axes in order");
  expect_contains(error_on(LayerNormalization({.axis = {}}), {4}), "axis is empty");
  EXPECT_EQ(error_on(GroupNormalization(3), {4}),
            "group_normalization: 3 groups do not divide the 4 channels of [rows, 4]; give a "
            "divisor, or -1");
  expect_contains(error_on(RMSNormalization({.axis = {5}}), {4}), "rms_normalization");
  const Layer shared = LayerNormalization();
  result_of(shared, {4});
  EXPECT_EQ(error_on(shared, {5}),
            "layer_normalization: its weights are [4], but [rows, 5] has [5] along these axes");
}

}  // namespace
}  // namespace snug::testing
