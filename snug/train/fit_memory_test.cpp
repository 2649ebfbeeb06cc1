// Memory stays flat however often one fits.
#include <gtest/gtest.h>

#include "snug/base/memory.h"
#include "snug/train/callbacks.h"
#include "snug/train/fit.h"
#include "snug/train/fit_testing.h"

namespace snug::testing {
namespace {

// Runs it `times` times and gives the growth of the resident bytes from the second one on.
template <typename Call>
int64_t growth(int times, const Call& call) {
  call();
  call();
  const int64_t before = resident_bytes();
  for (int i = 2; i < times; ++i) call();
  return resident_bytes() - before;
}

TEST(Memory, FlatOverFitsOfOneModel) {
  const Rows rows(64, 8);
  Sequential model = regression_model(8, Adam());
  FitOptions options{.epochs = 2, .validation_split = 0.25, .verbose = 0};
  options.callbacks = {EarlyStopping({.patience = 9, .restore_best_weights = true}),
                       TerminateOnNaN()};
  EXPECT_LE(growth(50, [&] { model.fit(rows.regression(), options); }), 1_MiB);
}

TEST(Memory, FlatOverModels) {
  const Rows rows(64, 8);
  EXPECT_LE(growth(100,
                   [&] {
                     Sequential model({Input({8}), Dense(64, "relu"), Dense(64, "relu"), Dense(1)});
                     model.compile({.optimizer = Adam(), .loss = "mse"});
                     model.fit(rows.regression(), {.verbose = 0});
                   }),
            1_MiB);
}

TEST(Memory, FlatOverCompileAndPredict) {
  const Rows rows(4, 8);
  Sequential model = small_model(8);
  EXPECT_LE(growth(200,
                   [&] {
                     model.compile({.optimizer = Adam(), .loss = "mse"});
                     model.predict(data::arrays(rows.inputs(0, 1)));
                   }),
            1_MiB);
}

// What the callback keeps is in the plan.
TEST(Memory, PlanCountsTheBestWeights) {
  const Rows rows(64, 8);
  Sequential model = regression_model(8);
  FitOptions options{.validation_split = 0.25, .verbose = 0};
  const FitRun without(model, rows.regression(), options);
  options.callbacks = {EarlyStopping({.restore_best_weights = true})};
  const FitRun with(model, rows.regression(), options);
  EXPECT_EQ(with.plan().callback_bytes, (8 * 4 + 4 + 4 + 1) * 4);
  EXPECT_EQ(without.plan().callback_bytes, 0);
}

}  // namespace
}  // namespace snug::testing
