#include "snug/train/progress.h"

#include <gtest/gtest.h>

#include <cmath>
#include <regex>

#include "snug/train/callbacks.h"
#include "snug/train/fit_testing.h"

namespace snug::testing {
namespace {

// Times and bytes as letters, and only the last drawing of each line.
std::string steady(std::string text) {
  text = std::regex_replace(text, std::regex("\\d+(us|ms|s)/step"), "T/step");
  text = std::regex_replace(text, std::regex("m\\d+s"), "mT");
  text = std::regex_replace(text, std::regex(" - \\d+s - "), " - T - ");
  text = std::regex_replace(text, std::regex("memory: [0-9.]+ ?[KMG]iB"), "memory: M");
  text = std::regex_replace(text, std::regex("loss: [0-9.e+-]+"), "loss: L");
  return std::regex_replace(text, std::regex("\r[^\n]*\r"), "\r");
}

std::string bars(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += "━";
  return text;
}

std::string progress_of(const FitOptions& options) {
  const Rows rows(10, 3);
  Sequential model = regression_model(3);
  LogText log;
  model.fit(rows.regression(), options);
  return steady(log.progress);
}

TEST(Progress, ABar) {
  const std::string line = "\r\x1b[1m3/3\x1b[0m \33[32m" + bars(20) +
                           "\x1b[0m\33[37m\x1b[0m \x1b[1mT\x1b[0m T/step - loss: L - memory: M\n";
  EXPECT_EQ(progress_of({.batch_size = 4, .epochs = 2}),
            "Epoch 1/2\n" + line + "Epoch 2/2\n" + line);
  EXPECT_EQ(progress_of({.batch_size = 4}), line);  // No header for one epoch.
}

TEST(Progress, ShowsValidationAndWhatCallbacksAdd) {
  const Rows rows(10, 3);
  const std::string text = progress_of(
      {.batch_size = 4,
       .validation_data = rows.regression(),
       .callbacks = {LambdaCallback({.on_epoch_end = [](int, Logs& logs) { logs["f1"] = 0.5; }})}});
  EXPECT_NE(text.find(" - f1: 0.5000 - loss: L - val_loss: L - memory: M\n"), std::string::npos)
      << text;
}

TEST(Progress, ALineAnEpoch) {
  EXPECT_EQ(progress_of({.batch_size = 4, .epochs = 2, .verbose = 2}),
            "Epoch 1/2\n3/3 - T - T/step - loss: L - memory: M\n"
            "Epoch 2/2\n3/3 - T - T/step - loss: L - memory: M\n");
}

TEST(Progress, Silent) { EXPECT_EQ(progress_of({.epochs = 2, .verbose = 0}), ""); }

TEST(Progress, DrawsAgainOverTheOldLine) {
  LogText log;
  Progress progress(1, 1, 10);
  progress.begin_epoch(0);
  progress.update(5, {{"loss", 0.25}});
  const std::string first = log.progress;
  EXPECT_EQ(first.find("\r\x1b[1m 5/10\x1b[0m \33[32m" + bars(10) + "\x1b[0m\33[37m" + bars(10) +
                       "\x1b[0m \x1b[1m"),
            0)
      << first;
  progress.update(6, {{"loss", 0.25}});
  const std::string second = log.progress.substr(first.size());
  EXPECT_EQ(second.find_first_not_of('\b'), second.find('\r')) << second;
  EXPECT_GT(second.find('\r'), 0);
}

TEST(Progress, UnknownNumberOfSteps) {
  LogText log;
  Progress progress(1, 1, std::nullopt);
  progress.begin_epoch(0);
  progress.update(3, {});
  EXPECT_EQ(log.progress.find("\r\x1b[1m      3/Unknown\x1b[0m \x1b[1m"), 0) << log.progress;
  log.progress.clear();
  progress.steps_done(3);
  progress.end_epoch({});
  EXPECT_NE(log.progress.find("\r\x1b[1m3/3\x1b[0m \33[32m" + bars(20)), std::string::npos);
}

TEST(Progress, Words) {
  EXPECT_EQ(logs_text({{"loss", -NAN}}), " - loss: nan");
  EXPECT_EQ(logs_text({{"loss", 0.33123}, {"val_loss", 1e-3}, {"accuracy", 0.9}}),
            " - accuracy: 0.9000 - loss: 0.3312 - val_loss: 1.0000e-03");
  EXPECT_EQ(step_time_text(1.4), "1s/step");
  EXPECT_EQ(step_time_text(0.0084), "8ms/step");
  EXPECT_EQ(step_time_text(0.00004), "40us/step");
  EXPECT_EQ(duration_text(12.9), "12s");
  EXPECT_EQ(duration_text(65), "1:05");
  EXPECT_EQ(duration_text(3665), "1:01:05");
}

}  // namespace
}  // namespace snug::testing
