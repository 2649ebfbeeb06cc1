#include "snug/nn/dropout.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "snug/testing/layer_call.h"
#include "snug/testing/layer_run.h"

namespace snug::testing {
namespace {

// What the layer makes of ones.
Doubles on_ones(const Layer& layer, const Shape& shape, const StepInfo& step = {}) {
  LayerRun run(layer, {{DType::float32, shape}}, {.training = true, .gradients = false});
  run.prepare();
  run.give(run.inputs()[0], Doubles(static_cast<size_t>(shape.size()), 1));
  run.run(step);
  return run.read(run.y);
}

double share_of_zeros(const Doubles& values) {
  return static_cast<double>(std::ranges::count(values, 0.0)) / static_cast<double>(values.size());
}

TEST(Dropout, DropsAndScales) {
  const Doubles y = on_ones(Dropout(0.25), {100, 100});
  EXPECT_NEAR(share_of_zeros(y), 0.25, 0.02);
  EXPECT_EQ(std::set(y.begin(), y.end()), (std::set<double>{0, static_cast<float>(1 / 0.75)}));
  EXPECT_EQ(on_ones(Dropout(1), {2, 3}), Doubles(6, 0));
}

TEST(Dropout, OnlyWhileItTrains) {
  for (const Layer& layer : {Dropout(0.5), SpatialDropout1D(0.5), GaussianNoise(0.5)}) {
    LayerRun run(layer, {{DType::float32, {2, 3, 4}}}, {.gradients = false});
    EXPECT_EQ(run.y, run.inputs()[0]) << layer->class_name();
  }
}

TEST(Dropout, DrawsByNameSeedAndStep) {
  const Shape shape = {10, 20};
  const auto drawn = [&](const DropoutOptions& options, const StepInfo& step = {}) {
    return on_ones(Dropout(0.5, options), shape, step);
  };
  EXPECT_EQ(drawn({.name = "a"}), drawn({.name = "a"}));
  EXPECT_NE(drawn({.name = "a"}), drawn({.name = "b"}));
  EXPECT_NE(drawn({.name = "a"}), drawn({.seed = 3, .name = "a"}));
  EXPECT_NE(drawn({.seed = 4, .name = "a"}), drawn({.seed = 3, .name = "a"}));
  EXPECT_NE(drawn({.name = "a"}), drawn({.name = "a"}, {.seed = 7}));
  EXPECT_NE(drawn({.name = "a"}), drawn({.name = "a"}, {.position = 10}));
}

TEST(Dropout, NoiseShape) {
  const Doubles y = on_ones(Dropout(0.5, {.noise_shape = {{-1, 1, -1}}}), {4, 3, 8});
  for (size_t i = 0; i < y.size(); ++i) {
    const size_t row = i / 24, channel = i % 8;
    EXPECT_EQ(y[i], y[row * 24 + channel]) << i;
  }
  EXPECT_GT(share_of_zeros(y), 0.2);
}

TEST(Dropout, WholeChannels) {
  const Doubles y = on_ones(SpatialDropout2D(0.5), {4, 3, 2, 8});
  for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], y[i / 48 * 48 + i % 8]) << i;
  EXPECT_NEAR(share_of_zeros(y), 0.5, 0.3);
}

TEST(Dropout, Noise) {
  const Doubles y = on_ones(GaussianNoise(0.1), {100, 100});
  double mean = 0, variance = 0;
  for (const double value : y) mean += value / 1e4;
  for (const double value : y) variance += (value - mean) * (value - mean) / 1e4;
  EXPECT_NEAR(mean, 1, 0.005);
  EXPECT_NEAR(std::sqrt(variance), 0.1, 0.005);
}

TEST(Dropout, Messages) {
  EXPECT_EQ(error_of([] { Dropout(1.5); }),
            "dropout: the rate is 1.5; it must be the share that is dropped, from 0 to 1");
  EXPECT_EQ(error_of([] { GaussianNoise(-1); }),
            "gaussian_noise: stddev is -1; it must be 0 or more");
  EXPECT_EQ(error_on(Dropout(0.5, {.noise_shape = {{32, 1, 8}}}), {3, 8}),
            "dropout: noise_shape {32, 1, 8} for [rows, 3, 8]; give each axis 1 (one draw for all) "
            "or -1 (a draw for each), the rows first");
  expect_contains(error_on(SpatialDropout1D(0.5), {3}), "spatial_dropout1d: expected [rows, steps");
}

}  // namespace
}  // namespace snug::testing
