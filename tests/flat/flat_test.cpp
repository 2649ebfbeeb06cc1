// Resident memory is flat, however often one builds, compiles, fits and predicts.
//
// In CI the loops are short. SNUG_FLAT=full flat_test runs them at their full lengths: 200 fits of
// one model, 1,000 models, 10,000 compile calls, 100,000 predict calls, 1,000 epochs; about five
// minutes.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

#include "snug/base/memory.h"
#include "snug/nn/convolution.h"
#include "snug/nn/shape_layers.h"
#include "snug/testing/temp_dir.h"
#include "snug/train/callbacks.h"
#include "snug/train/fit_testing.h"
#include "snug/train/step_cache.h"

namespace snug::testing {
namespace {

bool is_full() {
  const char* value = std::getenv("SNUG_FLAT");
  return value != nullptr && std::string_view(value) == "full";
}

// Calls it so often, and gives the growth of the process from the second call on.
template <typename Call>
int64_t growth(int full, int quick, const Call& call) {
  const int times = is_full() ? full : quick;
  call();
  call();
  const int64_t before = resident_bytes();
  for (int i = 2; i < times; ++i) call();
  const int64_t growth = resident_bytes() - before;
  std::printf("%d times: %s\n", times, bytes_text(std::max<int64_t>(growth, 0)).c_str());
  return growth;
}

TEST(Flat, FitsOfOneModel) {
  const Rows rows(64, 8);
  Sequential model = regression_model(8, Adam());
  const FitOptions options{.epochs = 2, .validation_split = 0.25, .verbose = 0};
  EXPECT_LE(growth(200, 40, [&] { model.fit(rows.regression(), options); }), 1_MiB);
}

TEST(Flat, ModelsBuiltCompiledFittedAndDestroyed) {
  const Rows rows(64, 8);
  EXPECT_LE(growth(1000, 60,
                   [&] {
                     Sequential model({Input({8}), Dense(64, "relu"), Dense(64, "relu"), Dense(1)});
                     model.compile({.optimizer = Adam(), .loss = "mse"});
                     model.fit(rows.regression(), {.verbose = 0});
                   }),
            1_MiB);
}

TEST(Flat, Compile) {
  const Rows rows(32, 8);
  Sequential model = small_model(8);
  EXPECT_LE(
      growth(10000, 1000,
             [&] { model.compile({.optimizer = Adam(), .loss = "mse", .metrics = {"mae"}}); }),
      1_MiB);
}

TEST(Flat, Predict) {
  const Rows rows(1, 8);
  Sequential model = small_model(8);
  EXPECT_LE(growth(100000, 1000, [&] { model.predict(data::arrays(rows.inputs())); }), 1_MiB);
}

TEST(Flat, TrainOnBatchAndPredictInTurns) {
  const Rows rows(32, 8);
  Sequential model = regression_model(8, Adam());
  EXPECT_LE(growth(100000, 1000,
                   [&] {
                     model.train_on_batch(rows.regression());
                     model.predict(data::arrays(rows.inputs(0, 1)));
                   }),
            1_MiB);
}

// What is kept for the next call of each has a bound, and goes with its model.
TEST(Flat, ModelsThatPredictAndAreDestroyed) {
  const Rows rows(32, 8);
  const auto use = [&] {
    std::vector<Sequential> models;
    const int64_t before = resident_bytes();
    for (int i = 0; i < 500; ++i) {
      models.push_back(small_model(8));
      models.back().predict(data::arrays(rows.inputs()));
    }
    const int64_t grown = resident_bytes() - before;
    std::printf("500 models: %s, of which steps %s\n", bytes_text(grown).c_str(),
                bytes_text(step_cache().bytes()).c_str());
    EXPECT_LE(grown, StepCache::kMostBytes);
  };
  EXPECT_LE(growth(20, 4, use), 1_MiB);
  EXPECT_EQ(step_cache().bytes(), 0);
}

// So it has where oneDNN's machine code is most of what is kept.
TEST(Flat, ModelsWithConvolutionsThatPredictAndAreDestroyed) {
  const Rows rows(33, 8 * 8 * 3);
  const auto use = [&] {
    std::vector<Sequential> models;
    const int64_t before = resident_bytes();
    for (int i = 0; i < 200; ++i) {
      models.push_back(Sequential({Input({8, 8, 3}), Conv2D(8, {3, 3}, {.strides = 2}),
                                   Conv2D(8, {3, 3}), Flatten(), Dense(1)}));
      models.back().predict(data::arrays(Array(rows.x.data(), {33, 8, 8, 3})), {.batch_size = 32});
    }
    const int64_t grown = resident_bytes() - before;
    std::printf("200 models: %s, of which steps %s\n", bytes_text(grown).c_str(),
                bytes_text(step_cache().bytes()).c_str());
    EXPECT_LE(grown, StepCache::kMostBytes);
  };
  EXPECT_LE(growth(20, 4, use), 1_MiB);
  EXPECT_EQ(step_cache().bytes(), 0);
}

// With validation and every callback there is: the epochs after the tenth add nothing but the
// history's own numbers.
TEST(Flat, EpochsWithValidationAndAllCallbacks) {
  const TempDir folder;
  const Rows rows(64, 8);
  Sequential model = regression_model(8, Adam());
  int64_t before = 0;
  LambdaCallbackOptions watch;
  watch.on_epoch_end = [&](int epoch, Logs&) {
    if (epoch == 10) before = resident_bytes();
  };
  watch.on_train_batch_end = [](int64_t, const Logs&) {};
  model.fit(rows.regression(),
            {.batch_size = 16,
             .epochs = is_full() ? 1000 : 150,
             .validation_split = 0.25,
             .callbacks = {EarlyStopping({.patience = 100000, .restore_best_weights = true}),
                           ReduceLROnPlateau({.monitor = "loss", .patience = 100000}),
                           CSVLogger(folder / "log.csv"), TerminateOnNaN(), LambdaCallback(watch)},
             .verbose = 0});
  EXPECT_LE(resident_bytes() - before, 1_MiB);
}

}  // namespace
}  // namespace snug::testing
