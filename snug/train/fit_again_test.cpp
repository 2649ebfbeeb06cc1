// Fits one after the other on one model, and batches one by one.
#include <gtest/gtest.h>

#include "snug/base/error.h"
#include "snug/data/source_testing.h"
#include "snug/nn/dropout.h"
#include "snug/train/callbacks.h"
#include "snug/train/fit.h"
#include "snug/train/fit_testing.h"

namespace snug::testing {
namespace {

// A constant would do far better than this model, which learns all the same: targets that hardly
// vary.
struct FarFromAConstant {
  Rows rows = Rows(32, 3);
  Sequential model = regression_model(3, SGD({.learning_rate = 1e-4}));

  FarFromAConstant() {
    for (float& y : rows.y) y *= 1e-4F;
  }
};

TEST(FitAgain, IsNotBlamedForWhereItBegins) {
  FarFromAConstant run;
  for (int fit = 0; fit < 3; ++fit)
    EXPECT_NO_THROW(run.model.fit(run.rows.regression(), {.epochs = 2, .verbose = 0})) << fit;
}

TEST(FitAgain, BatchesAreNotBlamedForWhereTheyBegin) {
  FarFromAConstant run;
  for (int batch = 0; batch < 3; ++batch)
    EXPECT_NO_THROW(run.model.train_on_batch(run.rows.regression())) << batch;
}

TEST(FitAgain, StillSeesThatItDiverges) {
  FarFromAConstant run;
  run.model.fit(run.rows.regression(), {.verbose = 0});
  const auto far = LambdaCallback({.on_epoch_begin = [&](int epoch) {
    if (epoch != 1) return;
    std::vector<std::vector<float>> weights = run.model.get_weights();
    weights.back() = {1e6F};
    run.model.set_weights(weights);
  }});
  const std::string message = message_of<NumericsError>([&] {
    run.model.fit(run.rows.regression(), {.epochs = 3, .callbacks = {far}, .verbose = 0});
  });
  expect_within(message, "in epoch 2 every step");
}

Sequential model_with_dropout() {
  Sequential model({Input({3}), Dense(16, "relu"), Dropout(0.5), Dense(1)});
  model.compile({.optimizer = Adam(), .loss = "mse"});
  return model;
}

// With other masks each time, and those that the epochs of one fit have.
TEST(FitAgain, BatchAfterBatchIsFitWithoutShuffle) {
  const Rows rows(16, 3);
  Sequential batches = model_with_dropout(), whole = model_with_dropout();
  std::vector<double> losses;
  for (int i = 0; i < 4; ++i)
    losses.push_back(batches.train_on_batch(rows.regression(), {.seed = 3}).at("loss"));
  const History history =
      whole.fit(rows.regression(),
                {.batch_size = 16, .epochs = 4, .shuffle = false, .verbose = 0, .seed = 3});
  EXPECT_EQ(losses, history.history.at("loss"));
  EXPECT_EQ(batches.get_weights(), whole.get_weights());
}

TEST(FitAgain, BatchesDrawNewMasks) {
  const Rows rows(16, 3);
  Sequential model = model_with_dropout();
  model.compile({.optimizer = SGD({.learning_rate = 0}), .loss = "mse"});
  const double first = model.train_on_batch(rows.regression()).at("loss");
  EXPECT_NE(model.train_on_batch(rows.regression()).at("loss"), first);
}

// What callbacks and validation see of a batch is an epoch of its own, the first.
TEST(FitAgain, EachBatchIsAnEpochForCallbacks) {
  const Rows rows(16, 3);
  Sequential model = model_with_dropout();
  std::vector<int> epochs;
  const auto watch =
      LambdaCallback({.on_epoch_begin = [&](int epoch) { epochs.push_back(epoch); }});
  for (int i = 0; i < 2; ++i) model.train_on_batch(rows.regression(), {.callbacks = {watch}});
  EXPECT_EQ(epochs, (std::vector<int>{0, 0}));
}

}  // namespace
}  // namespace snug::testing
