// Passes that have no rows, or no sense.
#include <gtest/gtest.h>

#include "snug/base/error.h"
#include "snug/data/generator.h"
#include "snug/data/source_testing.h"
#include "snug/train/callbacks.h"
#include "snug/train/fit.h"
#include "snug/train/fit_testing.h"

namespace snug::testing {
namespace {

SourcePtr no_rows() {
  static const float nothing = 0;
  return data::arrays(Array(&nothing, {0, 3}), Array(&nothing, {0}));
}

// So many rows of ones, once.
SourcePtr given_once(int64_t rows) {
  const auto left = std::make_shared<int64_t>(rows);
  return data::generator(
      [left](std::span<const Tensor> slots) -> int64_t {
        if (*left == 0) return 0;
        --*left;
        for (int64_t i = 0; i < 3; ++i) slots[0].as<float>()[i] = 1;
        slots[1].as<float>()[0] = 1;
        return 1;
      },
      {.x = Shape{3}, .y = Shape{}});
}

TEST(NoRows, ArePredictedAsNone) {
  Sequential model = regression_model(3);
  class Counter final : public Callback {
   public:
    int calls = 0;
    void on_predict_begin() override { ++calls; }
    void on_predict_end() override { ++calls; }
  };
  const auto counter = std::make_shared<Counter>();
  EXPECT_EQ(model.predict(no_rows(), {.callbacks = {counter}}),
            std::vector<std::vector<float>>{{}});
  EXPECT_EQ(counter->calls, 2);
  EXPECT_EQ(model.predict(given_once(0)), std::vector<std::vector<float>>{{}});
}

TEST(NoRows, CannotBeMeasured) {
  Sequential model = regression_model(3);
  expect_within(message_of<DataError>([&] { model.evaluate(no_rows()); }), "evaluate: the data");
  expect_within(message_of<DataError>([&] { model.evaluate(given_once(0)); }), "`.restart`");
}

TEST(NoRows, CannotValidate) {
  const Rows rows(8, 3);
  Sequential model = regression_model(3);
  FitOptions options{.verbose = 0};
  options.validation_data = no_rows();
  expect_within(message_of<DataError>([&] { model.fit(rows.regression(), options); }),
                "validation_data has no rows");
  EXPECT_EQ(model.compiled().iterations(), 0);
}

// Not a loss of 0, which would be the best that ever was.
TEST(NoRows, OfAGeneratorThatHasEndedAreNoBestEpoch) {
  const Rows rows(8, 3);
  Sequential model = regression_model(3);
  FitOptions options{.epochs = 3, .verbose = 0};
  options.validation_data = given_once(4);
  std::vector<double> seen;
  options.callbacks = {LambdaCallback(
      {.on_epoch_end = [&](int, Logs& logs) { seen.push_back(logs.at("val_loss")); }})};
  const std::string message = message_of<DataError>([&] { model.fit(rows.regression(), options); });
  expect_within(message, "validation_data gave no rows in epoch 2");
  expect_within(message, "`.restart`");
  EXPECT_EQ(seen.size(), 1);
}

TEST(NoRows, OfTrainingNameTheRestart) {
  Sequential model = regression_model(3);
  const std::string message =
      message_of<DataError>([&] { model.fit(given_once(4), {.epochs = 2, .verbose = 0}); });
  expect_within(message, "the source gave no rows in epoch 2");
  expect_within(message, "`.restart`");
}

TEST(NoRows, AreNotAskedFor) {
  const Rows rows(8, 3);
  Sequential model = regression_model(3);
  const auto refusal = [&](const std::function<void(FitOptions&)>& change) {
    FitOptions options{.verbose = 0};
    options.validation_data = rows.regression();
    change(options);
    return message_of([&] { model.fit(rows.regression(), options); });
  };
  expect_within(refusal([](FitOptions& options) { options.validation_batch_size = 0; }),
                "validation_batch_size is 0; it must be 1 or more");
  expect_within(refusal([](FitOptions& options) { options.validation_steps = 0; }),
                "validation_steps is 0; it must be 1 or more");
  for (const int64_t bad : {0, -1}) {
    const std::string number = std::to_string(bad);
    expect_within(message_of([&] { model.evaluate(rows.regression(), {.batch_size = bad}); }),
                  "evaluate: batch_size is " + number);
    expect_within(message_of([&] { model.evaluate(rows.regression(), {.steps = bad}); }),
                  "evaluate: steps is " + number);
    expect_within(
        message_of([&] { model.predict(rows.regression(), EvaluateOptions{.batch_size = bad}); }),
        "predict: batch_size is " + number);
    expect_within(
        message_of([&] { model.predict(rows.regression(), EvaluateOptions{.steps = bad}); }),
        "predict: steps is " + number);
  }
}

}  // namespace
}  // namespace snug::testing
