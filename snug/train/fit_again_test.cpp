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

}  // namespace
}  // namespace snug::testing
