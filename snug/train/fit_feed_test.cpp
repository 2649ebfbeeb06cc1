// Rows that are brought part by part while a step runs: the same training in less memory.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "snug/base/error.h"
#include "snug/data/npy.h"
#include "snug/data/npy_writer.h"
#include "snug/testing/sanitized.h"
#include "snug/train/fit.h"
#include "snug/train/fit_testing.h"
#include "snug/train/refusal.h"

namespace snug::testing {
namespace {

// Rows that are wide beside all that is computed from them.
constexpr int64_t kRows = 2400, kFeatures = 2000, kBatch = 1024;

Sequential narrow_model() {
  Sequential model({Input({kFeatures}), Dense(4, "tanh"), Dense(1)});
  model.compile({.optimizer = SGD({.learning_rate = 1e-3}), .loss = "mse"});
  return model;
}

struct Fed {
  std::vector<std::vector<float>> weights;
  int64_t arena_bytes = 0;
  bool has_slots = false;
  std::string plan;
};

// With `less` than it takes at its fastest. A sanitizer's own memory is in every figure and changes
// from run to run: then up to 3 MiB more, which leave no room for the rows, either.
std::unique_ptr<FitRun> run_with_less(Sequential& model, const SourcePtr& data, FitOptions options,
                                      int64_t less) {
  options.memory = model.plan(data, options).needed_bytes() - less;
  for (int more = kSanitized ? 3 : 0;; --more) {
    try {
      return std::make_unique<FitRun>(model, data, options);
    } catch (const BudgetError&) {
      if (more == 0) throw;
      options.memory += 1_MiB;
    }
  }
}

Fed train(const SourcePtr& data, int64_t less, bool shuffle = true) {
  Sequential model = narrow_model();
  const FitOptions options{.batch_size = kBatch, .epochs = 2, .shuffle = shuffle, .verbose = 0};
  const std::unique_ptr<FitRun> fit = less > 0 ? run_with_less(model, data, options, less)
                                               : std::make_unique<FitRun>(model, data, options);
  fit->run();
  const FitPlan& plan = fit->plan();
  Value x = plan.training->step().inputs[0];
  return {model.get_weights(), plan.arena_bytes,
          plan.training->programs()[0]->tensor(x).data != nullptr, plan.text()};
}

constexpr int64_t kMostOfTheRows = kBatch * kFeatures * 4 * 3 / 5;

void expect_near(const Fed& a, const Fed& b) {
  for (size_t i = 0; i < a.weights.size(); ++i) {
    for (size_t k = 0; k < a.weights[i].size(); ++k)
      ASSERT_NEAR(a.weights[i][k], b.weights[i][k], 1e-6);
  }
}

TEST(Feeding, BringsRowsWhereTheBudgetHasNoRoomForThem) {
  if (kThreadSanitized) GTEST_SKIP() << "the sanitizer's memory grows beside the budget's";
  const Rows rows(kRows, kFeatures);
  const Fed all = train(rows.regression(), 0), part = train(rows.regression(), kMostOfTheRows);
  EXPECT_TRUE(all.has_slots);
  EXPECT_FALSE(part.has_slots);
  EXPECT_LT(part.arena_bytes, all.arena_bytes / 2);
  EXPECT_NE(all.plan.find("rows of a batch: as they run best"), std::string::npos);
  EXPECT_NE(part.plan.find("inputs: brought for each part"), std::string::npos) << part.plan;
  expect_near(all, part);
}

TEST(Feeding, BringsThemFromAFile) {
  const Rows rows(kRows, kFeatures);
  const Path folder = std::filesystem::temp_directory_path() / fmt::format("feed-{}", ::getpid());
  std::filesystem::create_directory(folder);
  NpyWriter x(real_files(), folder / "x.npy", {kFeatures}), y(real_files(), folder / "y.npy", {});
  x.append(rows.x);
  y.append(rows.y);
  x.finish();
  y.finish();
  const SourcePtr data = data::npy(folder / "x.npy", folder / "y.npy");
  expect_near(train(rows.regression(), 0), train(data, kMostOfTheRows));
  std::filesystem::remove_all(folder);
}

// Found while the step runs: named all the same, and nothing of the step is committed.
TEST(Feeding, NamesABadRow) {
  if (kThreadSanitized) GTEST_SKIP() << "the sanitizer's memory grows beside the budget's";
  Rows rows(kRows, kFeatures);
  rows.x[7 * kFeatures + 3] = NAN;
  Sequential model = narrow_model();
  const FitOptions options{.batch_size = kBatch, .epochs = 1, .shuffle = false, .verbose = 0};
  const SourcePtr source = std::make_shared<RecordingSource>(rows.regression());
  const std::unique_ptr<FitRun> fit = run_with_less(model, source, options, kMostOfTheRows);
  const auto before = model.get_weights();
  EXPECT_EQ(
      fit->plan().training->programs()[0]->tensor(fit->plan().training->step().inputs[0]).data,
      nullptr);
  try {
    fit->run();
    ADD_FAILURE() << "the row was not looked at";
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("row 7"), std::string::npos) << error.what();
  }
  EXPECT_EQ(model.get_weights(), before);
}

// A number that is finite where it is read, and not where it is used: the report names the rows.
TEST(Feeding, TheGuardNamesRowsThatWereBrought) {
  if (kThreadSanitized) GTEST_SKIP() << "the sanitizer's memory grows beside the budget's";
  Rows rows(kRows, kFeatures);
  for (int64_t i = 0; i < kFeatures; ++i) rows.x[7 * kFeatures + i] = 3e38F;
  Sequential model({Input({kFeatures}), Dense(4), Dense(1)});
  model.compile({.optimizer = SGD(), .loss = "mse"});
  const FitOptions options{.batch_size = kBatch, .epochs = 1, .shuffle = false, .verbose = 0};
  const SourcePtr source = std::make_shared<RecordingSource>(rows.regression());
  const std::unique_ptr<FitRun> fit = run_with_less(model, source, options, kMostOfTheRows);
  try {
    fit->run();
    ADD_FAILURE() << "the guard let it pass";
  } catch (const NumericsError& error) {
    EXPECT_NE(std::string(error.what()).find("row 7"), std::string::npos) << error.what();
  }
}

// Seed 002: 40 MB of rows a batch, and an update that does not depend on the budget. The rate makes
// the update larger than the weights, so that it can be seen in them.
TEST(Feeding, TheWideModelOfSeed002HasOneUpdate) {
  const Rows rows(10'000, 1000);
  const auto update = [&](int64_t memory) {
    Sequential model({Input({1000}), Dense(1000, "relu"), Dense(1, "sigmoid")});
    model.compile({.optimizer = SGD({.learning_rate = 1e4}), .loss = "binary_crossentropy"});
    model.ensure_weights(0);
    const auto before = model.get_weights();
    model.fit(rows.classes(), {.batch_size = 10'000, .verbose = 0, .memory = memory});
    std::vector<float> changes;
    const auto after = model.get_weights();
    for (size_t i = 0; i < before.size(); ++i) {
      for (size_t k = 0; k < before[i].size(); ++k) changes.push_back(after[i][k] - before[i][k]);
    }
    return changes;
  };
  const std::vector<float> whole = update(0), parts = update(48_MiB);
  float largest = 0, most = 0;
  for (size_t i = 0; i < whole.size(); ++i) {
    largest = std::max(largest, std::abs(whole[i]));
    most = std::max(most, std::abs(whole[i] - parts[i]));
  }
  EXPECT_GT(largest, 0);
  EXPECT_LE(most, 1e-6F * largest + 1e-9F) << "of " << largest;
}

}  // namespace
}  // namespace snug::testing
