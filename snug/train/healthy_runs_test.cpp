// Runs that are well raise no alarm, and runs that are not raise the right one.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "snug/data/source_testing.h"
#include "snug/nn/activation_layers.h"
#include "snug/nn/convolution.h"
#include "snug/nn/dropout.h"
#include "snug/nn/embedding.h"
#include "snug/nn/normalization.h"
#include "snug/nn/pooling.h"
#include "snug/nn/shape_layers.h"
#include "snug/train/callbacks.h"
#include "snug/train/fit_testing.h"

namespace snug::testing {
namespace {

constexpr int64_t kRows = 320, kFeatures = 8;

Optimizer warm_up(double peak) {
  return Adam({.learning_rate = CosineDecay(0, 240, {.warmup_target = peak, .warmup_steps = 60})});
}

struct HealthyRun {
  std::vector<Layer> layers;
  Optimizer optimizer;
  std::string loss;
  int64_t batch = 8;
  enum class Targets { plain, spiky, offset, tiny } targets = Targets::plain;
};

// Warm-ups, schedules, spikes, rates near the edge, small batches, all kinds of layers and losses.
std::vector<HealthyRun> healthy_runs() {
  using Targets = HealthyRun::Targets;
  const auto mlp = [](const char* activation, int64_t units = 32) {
    return std::vector<Layer>{Input({kFeatures}), Dense(units, activation),
                              Dense(units, activation), Dense(1)};
  };
  const auto deep = [] {
    std::vector<Layer> layers = {Input({kFeatures})};
    for (int i = 0; i < 8; ++i) layers.push_back(Dense(16, "relu"));
    layers.push_back(Dense(1));
    return layers;
  };
  const auto classes = [](std::vector<Layer> between) {
    std::vector<Layer> layers = {Input({kFeatures})};
    layers.insert(layers.end(), between.begin(), between.end());
    layers.push_back(Dense(2, "softmax"));
    return layers;
  };
  const std::string cross = "sparse_categorical_crossentropy";
  const auto image = [] {
    return std::vector<Layer>{Reshape({4, 2, 1}),   Conv2D(8, {2, 2}, {.padding = "same"}),
                              BatchNormalization(), ReLU(),
                              MaxPooling2D(),       Flatten()};
  };
  return {
      {mlp("relu"), Adam(), "mse"},
      {mlp("relu"), SGD({.learning_rate = 0.05}), "mse", 1},
      {mlp("tanh"), SGD({.learning_rate = 0.05, .momentum = 0.9}), "mae"},
      {mlp("relu"), warm_up(0.02), "mse"},
      {mlp("gelu", 64), warm_up(0.05), "huber", 16},
      {mlp("relu"), Adam({.learning_rate = make_schedule("CosineDecay")}), "mse"},
      {mlp("relu"), Adam({.learning_rate = make_schedule("ExponentialDecay")}), "log_cosh"},
      {mlp("relu"), Adam({.learning_rate = 0.01}), "mse", 8, Targets::spiky},
      {mlp("relu"), SGD({.learning_rate = 0.01, .clipnorm = 1}), "mse", 4, Targets::spiky},
      {mlp("sigmoid"), RMSprop({.learning_rate = 0.01}), "mse"},
      {mlp("relu"), Adam(), "mse", 8, Targets::offset},
      {mlp("elu"), Adam({.learning_rate = 0.01}), "mae", 8, Targets::offset},
      {mlp("relu"), Adam(), "mse", 8, Targets::tiny},
      {deep(), Adam(), "mse"},
      {deep(), AdamW({.learning_rate = 0.003, .global_clipnorm = 1}), "mse", 32},
      {classes({Dense(32, "relu"), Dropout(0.5), Dense(32, "relu"), Dropout(0.5)}), Adam(), cross},
      {classes({Dense(32), BatchNormalization(), ReLU(), Dense(16, "relu")}),
       SGD({.learning_rate = 0.3}), cross, 32},
      {classes(image()), Adam({.learning_rate = 0.01}), cross},
      {classes({GaussianNoise(0.5), Dense(64, "softplus"), LayerNormalization()}), Nadam(), cross},
      {classes({Dense(8, "relu"), LeakyReLU()}), Adagrad(),
       cross}};
}

std::string warnings_of(const HealthyRun& run, uint64_t seed) {
  Rows rows(kRows, kFeatures, seed);
  std::mt19937_64 random(seed);
  for (float& y : rows.y) {
    if (run.targets == HealthyRun::Targets::spiky && random() % 60 == 0) y *= 40;
    if (run.targets == HealthyRun::Targets::offset) y += 500;
    if (run.targets == HealthyRun::Targets::tiny) y *= 1e-4F;
  }
  LogText log;
  Sequential model(run.layers);
  model.compile({.optimizer = run.optimizer, .loss = run.loss});
  const bool classes = run.loss.starts_with("sparse");
  model.fit(classes ? rows.classes() : rows.regression(),
            {.batch_size = run.batch, .epochs = 8, .verbose = 0, .seed = seed});
  return log.messages;
}

TEST(HealthyRuns, RaiseNoAlarm) {
  const std::vector<HealthyRun> runs = healthy_runs();
  ASSERT_EQ(runs.size(), 20);
  for (size_t i = 0; i < runs.size(); ++i) {
    EXPECT_EQ(warnings_of(runs[i], i), "") << "run " << i;
  }
}

TEST(DeadUnits, AreWarnedOfWithTheirLayer) {
  const Rows rows(kRows, kFeatures);
  Sequential model({Input({kFeatures}), Dense(16, "relu"), Dense(8, "tanh"), Dense(1)});
  model.compile({.optimizer = Adam(), .loss = "mse"});
  model.ensure_weights(1);
  std::vector<std::vector<float>> weights = model.get_weights();
  for (size_t unit = 0; unit < 13; ++unit) weights[1][unit] = -1000;
  model.set_weights(weights);
  LogText log;
  model.fit(rows.regression(), {.batch_size = 8, .epochs = 3, .verbose = 0});
  expect_within(log.messages, "13 of the 16 units of dense/kernel are dead: in epoch 1");
  EXPECT_EQ(log.messages.find("dead"), log.messages.rfind("dead")) << "more than once";
}

// What is not healthy, as a user meets it.
TEST(SickRuns, AreWarnedOf) {
  const Rows rows(kRows, kFeatures);
  LogText log;
  Sequential model({Input({kFeatures}), Dense(16, "relu"), Dense(8, "relu"), Dense(1)});
  model.compile({.optimizer = Adam(), .loss = "mse"});
  model.ensure_weights(1);
  std::vector<std::vector<float>> weights = model.get_weights();
  for (float& bias : weights[3]) bias = -1000;
  model.set_weights(weights);
  model.fit(rows.regression(), {.batch_size = 8, .epochs = 2, .verbose = 0});
  expect_within(log.messages, "learns nothing: in epoch 1 its gradients were zero");
}

}  // namespace
}  // namespace snug::testing
