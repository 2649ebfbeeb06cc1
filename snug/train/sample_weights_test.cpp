// Weights of rows and of steps, and of classes.
#include <gtest/gtest.h>

#include "snug/base/error.h"
#include "snug/data/source_testing.h"
#include "snug/train/fit_testing.h"

namespace snug::testing {
namespace {

// Four rows of two steps, of which a model without a bias predicts 0: the losses are y * y.
struct Steps {
  std::vector<float> x = std::vector<float>(4 * 2 * 3, 0);
  std::vector<float> y = {1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<float> weights;

  SourcePtr source(const Shape& shape) const {
    return data::arrays({.x = {Array(x.data(), {4, 2, 3})},
                         .y = {Array(y.data(), {4, 2, 1})},
                         .sample_weight = Array(weights.data(), shape)});
  }
};

Sequential step_model() {
  Sequential model({Input({2, 3}), Dense(1, {.use_bias = false})});
  model.compile({.loss = "mse", .weighted_metrics = {"mae"}});
  return model;
}

TEST(SampleWeights, OfEachStep) {
  const Steps steps{.weights = {1, 0, 1, 0, 0, 2, 0, 0}};
  Sequential model = step_model();
  const Logs logs = model.evaluate(steps.source({4, 2}));
  EXPECT_FLOAT_EQ(logs.at("loss"), (1 + 9 + 2 * 36) / 8.0);
  EXPECT_FLOAT_EQ(logs.at("mae"), (1 + 3 + 2 * 6) / 4.0);
  model.fit(steps.source({4, 2}), {.verbose = 0});
}

TEST(SampleWeights, AColumnIsForAllStepsOfARow) {
  const Steps steps{.weights = {1, 0, 0, 2}};
  Sequential model = step_model();
  const Logs logs = model.evaluate(steps.source({4, 1}));
  EXPECT_FLOAT_EQ(logs.at("loss"), (1 + 4 + 2 * (49 + 64)) / 8.0);
  EXPECT_FLOAT_EQ(logs.at("mae"), (1.5 + 2 * 7.5) / 3);
}

// Keras takes the last axis of the losses for that of the weights.
TEST(SampleWeights, OneForARowIsNotSpreadOverSteps) {
  const Steps steps{.weights = {1, 0, 0, 2}};
  Sequential model = step_model();
  const std::string wanted =
      "mean_squared_error: weights of shape [rows] do not go with losses of shape [rows, 2]; give "
      "that shape, with 1 along the axes that a weight is for";
  EXPECT_EQ(message_of([&] { model.fit(steps.source({4}), {.verbose = 0}); }), wanted);
  EXPECT_EQ(message_of([&] { model.evaluate(steps.source({4})); }), wanted);
}

TEST(SampleWeights, AColumnBesideLossesOfRows) {
  const Rows rows(4, 3);
  const std::vector<float> weights = {1, 0, 0, 2};
  Sequential model = regression_model(3);
  const auto loss = [&](const Shape& shape) {
    return model
        .evaluate(data::arrays({.x = {rows.inputs()},
                                .y = {Array(rows.y)},
                                .sample_weight = Array(weights.data(), shape)}))
        .at("loss");
  };
  EXPECT_EQ(loss({4}), loss({4, 1}));
  EXPECT_NE(loss({4}), model.evaluate(rows.regression()).at("loss"));
  const std::vector<float> wide(8, 1);
  EXPECT_EQ(message_of([&] {
              model.evaluate(data::arrays({.x = {rows.inputs()},
                                           .y = {Array(rows.y)},
                                           .sample_weight = Array(wide.data(), {4, 2})}));
            }),
            "mean_squared_error: weights of shape [rows, 2] do not go with losses of shape [rows]; "
            "give that shape, with 1 along the axes that a weight is for");
}

// A row has one class, or there is nothing to weigh it by.
TEST(ClassWeight, IsRefusedForLabelsOfSteps) {
  const Steps steps;
  const std::vector<int32_t> labels = {0, 1, 1, 0, 0, 1, 1, 0};
  const FitOptions weighted{.class_weight = {{1, 5}}, .verbose = 0};
  Sequential sparse({Input({2, 3}), Dense(2, "softmax")});
  sparse.compile({.loss = "sparse_categorical_crossentropy"});
  EXPECT_EQ(message_of([&] {
              sparse.fit(
                  data::arrays(Array(steps.x.data(), {4, 2, 3}), Array(labels.data(), {4, 2})),
                  weighted);
            }),
            "fit: class_weight weighs a row by its class, but a row of y has the shape [2], with a "
            "class for each step; give a sample weight for each step instead");
  Sequential binary({Input({2, 3}), Dense(1, "sigmoid")});
  binary.compile({.loss = "binary_crossentropy"});
  const std::vector<float> ones = {0, 1, 1, 0, 0, 1, 1, 0};
  EXPECT_THROW(
      binary.fit(data::arrays(Array(steps.x.data(), {4, 2, 3}), Array(ones.data(), {4, 2, 1})),
                 weighted),
      Error);
}

}  // namespace
}  // namespace snug::testing
