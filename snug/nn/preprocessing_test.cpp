#include "snug/nn/preprocessing.h"

#include "snug/testing/layer_call.h"
#include "snug/testing/layer_run.h"

namespace snug::testing {
namespace {

Doubles on(const Layer& layer, const Type& type, const Doubles& x) {
  LayerRun run(layer, {type}, {.gradients = false});
  run.prepare();
  run.give(run.inputs()[0], x);
  run.run();
  return run.read(run.y);
}

void expect_close(const Doubles& actual, const Doubles& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-6) << i;
}

TEST(Preprocessing, RescalesBytes) {
  expect_close(on(Rescaling(1.0 / 255, {.offset = -0.5}), {DType::uint8, {1, 2}}, {0, 255}),
               {-0.5, 0.5});
}

TEST(Preprocessing, GivenMeanAndVariance) {
  const Type type{DType::float32, {2, 2}};
  const Normalization layer({.mean = {{1, 2}}, .variance = {{4, 0}}});
  expect_close(on(layer, type, {3, 2, 1, 2}), {1, 0, 0, 0});
  EXPECT_TRUE(layer.weights().empty());
  const Normalization back({.mean = {{3}}, .variance = {{4}}, .invert = true});
  expect_close(on(back, type, {0, 1, 2, 3}), {3, 5, 7, 9});
}

// Before there is a model, for the axes that were chosen.
TEST(Preprocessing, Adapts) {
  const std::vector<float> data = {0, 7, 4, 2, 9, 6};
  const Normalization channels;
  channels.adapt(data, {3});
  EXPECT_EQ(weights_of(channels), "mean [3], variance [3], count []");
  EXPECT_EQ(channels.get_weights(), (std::vector<std::vector<float>>{{1, 8, 5}, {1, 1, 1}, {0}}));
  expect_close(on(channels, {DType::float32, {1, 3}}, {1, 9, 4}), {0, 1, -1});

  const Normalization all({.axis = {}});
  all.adapt(std::vector<float>{1, 2, 3, 4, 5}, {1});
  EXPECT_EQ(all.get_weights()[0], std::vector<float>{3});
  EXPECT_EQ(all.get_weights()[1], std::vector<float>{2});

  const Normalization rows({.axis = {1}});
  rows.adapt(data, {2, 3});
  EXPECT_EQ(rows.get_weights()[0], (std::vector<float>{11.0f / 3, 17.0f / 3}));
  rows.adapt(data, {2, 3});
  EXPECT_EQ(rows.get_weights()[0], (std::vector<float>{11.0f / 3, 17.0f / 3}));

  const Normalization each({.axis = {-1, 1}});
  each.adapt(data, {3, 2});
  EXPECT_EQ(each.get_weights()[0], data);
}

TEST(Preprocessing, Messages) {
  const std::vector<float> data(6);
  EXPECT_EQ(error_of([] { Normalization({.mean = {{1}}}); }),
            "normalization: mean and variance must be given both or not at all");
  EXPECT_EQ(error_of([] {
              Normalization({.mean = {{1}}, .variance = {{1, 2}}});
            }),
            "normalization: 1 means but 2 variances were given");
  EXPECT_EQ(error_on(Normalization({.mean = {{1, 2}}, .variance = {{1, 2}}}), {3}),
            "normalization: mean has 2 numbers; the axes to normalise hold 3");
  EXPECT_EQ(error_of([&] { Normalization().adapt(data, {4}); }),
            "normalization: adapt: 6 numbers are not one or more rows of [4]");
  EXPECT_EQ(error_of([&] { Normalization().adapt_further(data); }),
            "normalization: adapt_further: call adapt first");
  EXPECT_EQ(error_of([&] { Normalization({.mean = {{1}}, .variance = {{1}}}).adapt(data, {3}); }),
            "normalization: adapt: mean and variance were given, so there is nothing to adapt");
  EXPECT_EQ(error_on(Normalization({.axis = {0}}), {3}),
            "normalization: axis 0 of [rows, 3] counts the rows; choose another, or none for one "
            "mean");
  const Normalization built;
  result_of(built, {3});
  EXPECT_EQ(error_of([&] { built.adapt(data, {2}); }),
            "normalization: adapt: rows of [2] do not fit a mean of [3]");
  EXPECT_EQ(error_on(built, {2}), "normalization: its mean is [3], which does not fit [rows, 2]");
}

}  // namespace
}  // namespace snug::testing
