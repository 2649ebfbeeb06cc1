// When a model is saved, and under which name.
#include <gtest/gtest.h>

#include "snug/base/error.h"
#include "snug/data/source_testing.h"
#include "snug/testing/memory_files.h"
#include "snug/train/callbacks.h"
#include "snug/train/fit_testing.h"

namespace snug::testing {
namespace {

// 4 rows.
SourcePtr rows() {
  static const Rows all(4, 2);
  return all.regression();
}

Sequential model(const Optimizer& optimizer) { return regression_model(2, optimizer); }

TEST(ModelCheckpoint, SavesEverySoManyBatches) {
  MemoryFiles files;
  Sequential one = model(SGD());
  one.fit(rows(), {.batch_size = 1,
                   .epochs = 2,
                   .callbacks = {ModelCheckpoint("at_{epoch}.keras", {.save_freq = 3}, files)},
                   .verbose = 0});
  // After the 3rd and the 6th of 8 batches.
  EXPECT_EQ(files.list(""), (std::vector<std::string>{"at_1.keras", "at_2.keras"}));
  EXPECT_EQ(load_model("at_1.keras", {}, files).compiled().iterations(), 3);
  EXPECT_EQ(load_model("at_2.keras", {}, files).compiled().iterations(), 6);
}

TEST(ModelCheckpoint, SavesOnlyWhatIsBetterThanTheThreshold) {
  MemoryFiles files;
  Sequential one = model(SGD());
  const auto checkpoint = [&](double threshold) {
    return ModelCheckpoint(
        "best.keras",
        {.monitor = "loss", .save_best_only = true, .initial_value_threshold = threshold}, files);
  };
  one.fit(rows(), {.callbacks = {checkpoint(0)}, .verbose = 0});
  EXPECT_FALSE(files.size("best.keras").has_value());
  one.fit(rows(), {.callbacks = {checkpoint(1e9)}, .verbose = 0});
  EXPECT_TRUE(files.size("best.keras").has_value());
}

// A second fit that is worse than the first does not replace the file.
TEST(ModelCheckpoint, KeepsTheBestFromFitToFit) {
  MemoryFiles files;
  Sequential one = model(SGD());
  const CallbackPtr checkpoint = ModelCheckpoint(
      "best.keras", {.monitor = "judged", .save_best_only = true, .mode = "min"}, files);
  const auto fit = [&](double value) {
    const auto judge =
        LambdaCallback({.on_epoch_end = [=](int, Logs& logs) { logs["judged"] = value; }});
    one.fit(rows(), {.callbacks = {judge, checkpoint}, .verbose = 0});
    return load_model("best.keras", {}, files).compiled().iterations();
  };
  EXPECT_EQ(fit(3), 1);
  EXPECT_EQ(fit(5), 1);
  EXPECT_EQ(fit(2), 3);
}

TEST(ModelCheckpoint, FillsInTheBatch) {
  MemoryFiles files;
  Sequential one = model(SGD());
  one.fit(rows(),
          {.batch_size = 1,
           .epochs = 2,
           .callbacks = {ModelCheckpoint("{epoch}_{batch:02d}.keras", {.save_freq = 3}, files)},
           .verbose = 0});
  EXPECT_EQ(files.list(""), (std::vector<std::string>{"1_03.keras", "2_02.keras"}));
}

TEST(ModelCheckpoint, ANameThatCannotBeFilledInIsRefusedBeforeTheFirstStep) {
  MemoryFiles files;
  const auto refusal = [&](const std::string& path) {
    Sequential one = model(SGD());
    const std::string message = message_of(
        [&] { one.fit(rows(), {.callbacks = {ModelCheckpoint(path, {}, files)}, .verbose = 0}); });
    EXPECT_EQ(one.compiled().iterations(), 0) << path;
    return message;
  };
  expect_within(refusal("{epoch.keras"), "filepath is");
  expect_within(refusal("{loss:d}.keras"), "filepath is");
  expect_within(refusal("{batch}.keras"), "with save_freq, batch");
}

TEST(ModelCheckpoint, ANameThatNothingMeasuresIsWarnedOf) {
  MemoryFiles files;
  Sequential one = model(SGD());
  LogText log;
  const auto adds = LambdaCallback({.on_epoch_end = [](int, Logs& logs) { logs["f1"] = 0.5; }});
  one.fit(rows(),
          {.callbacks = {adds, ModelCheckpoint("{f1:.1f}_{{}}.keras", {}, files)}, .verbose = 0});
  EXPECT_TRUE(files.size("0.5_{}.keras").has_value());
  expect_within(log.messages, "nothing measures f1");
  expect_within(log.messages, "take one of learning_rate, loss");
}

}  // namespace
}  // namespace snug::testing
