// Two fits in two threads of one program, each on two threads of its own: neither sees the other.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <stdexcept>
#include <thread>

#include "snug/nn/convolution.h"
#include "snug/nn/dropout.h"
#include "snug/nn/normalization.h"
#include "snug/nn/pooling.h"
#include "snug/nn/shape_layers.h"
#include "snug/testing/temp_dir.h"
#include "snug/train/callbacks.h"
#include "snug/train/fit_testing.h"

namespace snug::testing {
namespace {

struct Fitted {
  std::vector<double> loss;
  std::vector<std::vector<float>> weights;
  std::vector<float> predicted;
  friend bool operator==(const Fitted&, const Fitted&) = default;
};

// With a folder, every step is saved beside the next one, and what the callback keeps is lent to
// the thread that writes.
Fitted fitted(uint64_t seed, const Path& saved = {}, bool resume = false) {
  const Rows rows(70, 64, seed);
  Sequential model({Input({64}), Reshape({8, 8, 1}), Conv2D(4, 3), BatchNormalization(),
                    MaxPooling2D(), Flatten(), Dropout(0.3), Dense(40, "relu"), Dense(1)});
  model.compile({.optimizer = Adam(), .loss = "mse", .metrics = {"mae"}});
  Fitted result;
  const FitOptions options{
      .batch_size = 16,
      .epochs = 3,
      .validation_data = rows.regression(0, 20),
      .callbacks = {EarlyStopping({.patience = 5, .restore_best_weights = true})},
      .verbose = 0,
      .threads = 2,
      .checkpoint = {.directory = saved,
                     .every_seconds = 0,
                     .every_steps = 1,
                     .best = saved.empty() ? "" : "val_loss"},
      .resume = resume};
  result.loss = model.fit(rows.regression(), options).history.at("loss");
  result.weights = model.get_weights();
  result.predicted = model.predict(data::arrays(rows.inputs()))[0];
  return result;
}

TEST(Threads, TwoFitsAtOnceGiveWhatEachGivesAlone) {
  const std::vector<Fitted> alone = {fitted(1), fitted(2)};
  std::vector<Fitted> together(2);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 2; ++i) threads.emplace_back([&, i] { together[i] = fitted(i + 1); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(together[0] == alone[0]);
  EXPECT_TRUE(together[1] == alone[1]);
}

TEST(Threads, TwoFitsSaveAtOnce) {
  const TempDir temp;
  const std::vector<Fitted> alone = {fitted(1), fitted(2)};
  const auto folder = [&](size_t i) { return temp.path() / std::to_string(i); };
  for (const bool resume : {false, true}) {  // The second time nothing is left to do.
    std::vector<Fitted> together(2);
    std::vector<std::thread> threads;
    for (size_t i = 0; i < 2; ++i)
      threads.emplace_back([&, i] { together[i] = fitted(i + 1, folder(i), resume); });
    for (std::thread& thread : threads) thread.join();
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(together[i].loss, alone[i].loss) << i << (resume ? " again" : "");
      EXPECT_TRUE(together[i] == alone[i]) << i << (resume ? " again" : "");
      EXPECT_TRUE(std::filesystem::exists(folder(i) / "best.ckpt"));
    }
  }
}

// What a call of another thread is told; empty where it is not refused.
std::string told_elsewhere(const std::function<void()>& call) {
  std::string told;
  std::thread([&] {
    try {
      call();
    } catch (const Error& error) {
      told = error.what();
    }
  }).join();
  return told;
}

struct OneModel {
  const Rows rows = Rows(20, 3);
  Sequential model = regression_model(3);
  const SourcePtr data = rows.regression();
  const std::map<std::string, std::function<void()>> calls = {
      {"fit", [this] { model.fit(data, {.verbose = 0}); }},
      {"train_on_batch", [this] { model.train_on_batch(data); }},
      {"evaluate", [this] { model.evaluate(data); }},
      {"predict", [this] { model.predict(data); }},
      {"plan", [this] { model.plan(data, {}); }},
      {"compile", [this] { model.compile({.loss = "mae"}); }}};

  void expect_told(const std::string& rest) const {
    for (const auto& [name, call] : calls)
      EXPECT_EQ(told_elsewhere(call), rest.empty() ? "" : name + rest) << name;
  }
};

const std::string kTold =
    ": another thread trains or evaluates this model; wait until it is done, or give each thread a "
    "model of its own";

TEST(Threads, OneModelIsFittedByOneThread) {
  OneModel one;
  int epochs = 0;
  LambdaCallbackOptions looks;
  looks.on_epoch_end = [&](int, Logs&) {
    one.expect_told(kTold);
    // This thread is the one that fits.
    EXPECT_EQ(one.model.predict(one.data)[0].size(), 20u);
    EXPECT_EQ(one.model.evaluate(one.data).count("loss"), 1u);
    one.expect_told(kTold);
    ++epochs;
  };
  one.model.fit(one.data, {.callbacks = {LambdaCallback(looks)}, .verbose = 0});
  EXPECT_EQ(epochs, 1);
  one.expect_told("");
}

TEST(Threads, OneModelIsEvaluatedByOneThread) {
  struct Looks final : Callback {
    explicit Looks(const OneModel& one) : one(one) {}
    void on_test_batch_end(int64_t, const Logs&) override { one.expect_told(kTold); }
    const OneModel& one;
  };
  OneModel one;
  one.model.evaluate(one.data, {.callbacks = {std::make_shared<Looks>(one)}});
  one.expect_told("");
}

// However a fit ends.
TEST(Threads, AFitThatFailedHoldsNothing) {
  OneModel one;
  EXPECT_THROW(one.model.fit(one.data, {.epochs = -1}), Error);
  LambdaCallbackOptions fails;
  fails.on_epoch_end = [](int, Logs&) { throw std::runtime_error("no"); };
  EXPECT_THROW(one.model.fit(one.data, {.callbacks = {LambdaCallback(fails)}, .verbose = 0}),
               std::runtime_error);
  one.expect_told("");
}

}  // namespace
}  // namespace snug::testing
