// What a plan counts, and how a fit keeps to it. (tests/flat: memory stays flat; tests/budget:
// within cgroups.)
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <new>
#include <thread>

#include "snug/base/error.h"
#include "snug/base/memory.h"
#include "snug/data/generator.h"
#include "snug/data/source_testing.h"
#include "snug/nn/normalization.h"
#include "snug/testing/memory_files.h"
#include "snug/testing/sanitized.h"
#include "snug/train/callbacks.h"
#include "snug/train/fit.h"
#include "snug/train/fit_testing.h"
#include "snug/train/refusal.h"

namespace snug::testing {
namespace {

// What the callback keeps is in the plan.
TEST(Memory, PlanCountsTheBestWeights) {
  const Rows rows(64, 8);
  Sequential model = regression_model(8);
  FitOptions options{.validation_split = 0.25, .verbose = 0};
  const FitRun without(model, rows.regression(), options);
  options.callbacks = {EarlyStopping({.restore_best_weights = true})};
  const FitRun with(model, rows.regression(), options);
  const int64_t history = history_bytes(model.compiled(), 1);
  EXPECT_EQ(with.plan().callback_bytes, (8 * 4 + 4 + 4 + 1) * 4 + history);
  EXPECT_EQ(without.plan().callback_bytes, history);
}

struct Taking final : Callback {
  Taking(size_t held, size_t passing) : held(held), passing(passing) {}
  size_t held_bytes(const Model&) const override { return held; }
  size_t passing_bytes(const Model&) const override { return passing; }
  size_t held, passing;
};

// Callbacks keep what they keep beside each other, and take the rest one after the other.
TEST(Memory, PlanCountsTheLargestOfWhatIsGivenBack) {
  const Rows rows(64, 8);
  Sequential model = regression_model(8);
  FitOptions options{.verbose = 0};
  options.callbacks = {std::make_shared<Taking>(1, 300), std::make_shared<Taking>(20, 4000)};
  const FitRun run(model, rows.regression(), options);
  EXPECT_EQ(run.plan().callback_bytes, 4021 + history_bytes(model.compiled(), 1));
}

// So is the history that a checkpoint holds beside the run's own.
TEST(Memory, PlanCountsTheHistoryOfACheckpoint) {
  const Rows rows(64, 8);
  Sequential model = regression_model(8);
  MemoryFiles files;
  FitOptions options{.epochs = 5000, .verbose = 0};
  const int64_t history = history_bytes(model.compiled(), options.epochs);
  EXPECT_EQ(FitRun(model, rows.regression(), options).plan().callback_bytes, history);
  options.checkpoint = {.directory = "saved", .files = &files};
  Compiled& compiled = model.compiled();
  const size_t weights = model.weights().size(), metrics = compiled.phase(true, {}).state().size();
  EXPECT_GT(metrics, 0u);
  const auto listed = [](size_t count) { return static_cast<int64_t>(count) * kListedVariable; };
  const int64_t both = 2 * history + listed(weights + compiled.slots().size() + metrics);
  EXPECT_EQ(FitRun(model, rows.regression(), options).plan().callback_bytes, both);
  const auto stopping = EarlyStopping({.monitor = "loss", .restore_best_weights = true});
  options.callbacks = {stopping};
  EXPECT_EQ(FitRun(model, rows.regression(), options).plan().callback_bytes,
            both + static_cast<int64_t>(stopping->held_bytes(model)) + listed(weights));
}

// One plan covers training and validation, whole batches and last ones.
TEST(Memory, PlanCoversValidationAndLastBatches) {
  const Rows rows(100, 8);
  Sequential model = regression_model(8);
  FitOptions options{.batch_size = 8, .verbose = 0};
  const FitPlan training = model.plan(rows.regression(), options);
  EXPECT_EQ(training.training->programs().size(), 2u);  // 8 rows, and the last 4.
  EXPECT_EQ(training.validation, nullptr);
  options.validation_data = rows.regression(0, 90);
  options.validation_batch_size = 60;
  const FitPlan both = model.plan(rows.regression(), options);
  EXPECT_EQ(both.validation->programs().size(), 2u);  // 60 rows, and the last 30.
  EXPECT_GE(both.arena_bytes, training.arena_bytes);
  EXPECT_GE(both.arena_bytes, static_cast<int64_t>(both.validation->arena_bytes()));
  EXPECT_GT(both.metric_bytes, training.metric_bytes);
  EXPECT_GT(training.metric_bytes, 0);
}

// So many rows, whose number nobody is told.
SourcePtr counted_by_nobody(const Rows& rows) {
  const auto next = std::make_shared<int64_t>(0);
  return data::generator(
      [&rows, next](std::span<const Tensor> slots) -> int64_t {
        if (*next == rows.count) return 0;
        std::copy_n(&rows.x[*next * rows.features], rows.features, slots[0].as<float>().begin());
        slots[1].as<float>()[0] = rows.y[*next];
        ++*next;
        return 1;
      },
      {.x = Shape{rows.features}, .y = Shape{}, .restart = [next] { *next = 0; }});
}

// A last batch of any size may come: its kernels are counted with the others, and are not there
// beside those that stood for them.
TEST(Memory, PlanCoversALastBatchOfUnknownSize) {
  const Rows rows(101, 8);
  Sequential model = regression_model(8), arrays = regression_model(8);
  const FitOptions options{.batch_size = 8, .epochs = 2, .shuffle = false, .verbose = 0};
  FitRun run(model, counted_by_nobody(rows), options);
  ASSERT_NE(run.plan().training->spare(), nullptr);
  EXPECT_EQ(run.plan().training->spare()->rows(), 7);
  run.run();
  EXPECT_EQ(run.plan().training->spare()->rows(), 5);
  FitRun known(arrays, rows.regression(), options);
  EXPECT_EQ(known.plan().training->spare(), nullptr);
  known.run();
  EXPECT_EQ(model.get_weights(), arrays.get_weights());
}

TEST(Memory, TheLeastOfASourceOfUnknownLengthIsEnough) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer's own memory would count";
  const Rows rows(301, 16);
  Sequential model({Input({16}), Dense(128, "relu"), Dense(128, "relu"), Dense(1)});
  model.compile({.optimizer = Adam(), .loss = "mse"});
  FitOptions options{.batch_size = 64, .verbose = 0, .memory = 1};
  try {
    FitRun(model, counted_by_nobody(rows), options);
    FAIL() << "1 byte is no budget";
  } catch (const FitRefused& refusal) {
    options.memory = refusal.refusal().least_bytes;
  }
  EXPECT_EQ(model.fit(counted_by_nobody(rows), options).epoch.size(), 1);
}

TEST(Memory, ThePlanSaysWhichStatisticsABatchNormHas) {
  const Rows rows(64, 8);
  Sequential model({Input({8}), Dense(4), BatchNormalization(), Dense(1)});
  model.compile({.optimizer = SGD(), .loss = "mse"});
  const std::string text = model.plan(rows.regression(), {.verbose = 0}).text();
  EXPECT_NE(text.find("batch statistics: of the whole batch"), std::string::npos) << text;
  Sequential plain = regression_model(8);
  EXPECT_EQ(plain.plan(rows.regression(), {.verbose = 0}).text().find("batch statistics"),
            std::string::npos);
}

TEST(Memory, AFitNeedsWhatThePlanSays) {
  const Rows rows(100, 8);
  Sequential model = regression_model(8, Adam());
  const FitOptions options{.batch_size = 8, .validation_split = 0.3, .verbose = 0};
  const FitPlan plan = model.plan(rows.regression(), options);
  EXPECT_FALSE(plan.is_measured);
  const FitRun fit(model, rows.regression(), options);
  EXPECT_TRUE(fit.plan().is_measured);
  EXPECT_EQ(fit.plan().arena_bytes, plan.arena_bytes);
  EXPECT_EQ(fit.plan().slot_bytes, plan.slot_bytes);
}

// State that is there already is in the plan all the same, and not counted twice.
TEST(Memory, TheSecondFitCountsItsStateToo) {
  const Rows rows(64, 8);
  Sequential model({Input({8}), Dense(4000, "relu"), Dense(1)});
  model.compile({.optimizer = Adam(), .loss = "mse"});
  const FitOptions options{.verbose = 0, .memory = 64_MiB};
  const FitPlan first = model.plan(rows.regression(), options);
  model.fit(rows.regression(), options);
  const FitPlan second = model.plan(rows.regression(), options);
  EXPECT_EQ(second.weight_bytes, first.weight_bytes);
  EXPECT_EQ(second.slot_bytes, first.slot_bytes);
  EXPECT_LE(second.total_bytes(), first.total_bytes() + 1_MiB);
}

// With several fits in one process none can tell what it adds: they are not refused for each
// other's memory.
TEST(Memory, FitsInSeveralThreads) {
  const Rows rows(256, 8);
  std::vector<std::thread> threads;
  std::atomic<int> done = 0;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      Sequential model({Input({8}), Dense(2000, "relu"), Dense(1)});
      model.compile({.optimizer = Adam(), .loss = "mse"});
      for (int fit = 0; fit < 4; ++fit)
        model.fit(rows.regression(), {.verbose = 0, .memory = 24_MiB, .threads = 1});
      ++done;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(done, 3);
}

TEST(Refusal, SaysWhatWouldFit) {
  if (testing::kSanitized) GTEST_SKIP() << "the sanitizer's own memory counts";
  const Rows rows(64, 8);
  Sequential model({Input({8}), Dense(100000, "relu"), Dense(1)});
  model.compile({.optimizer = Adam(), .loss = "mse"});
  try {
    model.fit(rows.regression(), {.batch_size = 64, .verbose = 0, .memory = 12_MiB});
    ADD_FAILURE();
  } catch (const FitRefused& error) {
    const Refusal& refusal = error.refusal();
    EXPECT_EQ(refusal.budget_bytes, 12_MiB);
    EXPECT_EQ(refusal.batch_size, 64);
    EXPECT_GT(refusal.least_bytes, 12_MiB);
    EXPECT_LE(refusal.least_bytes, refusal.fastest_bytes + 1_MiB);
    model.fit(rows.regression(), {.batch_size = 64, .verbose = 0, .memory = refusal.least_bytes});
  }
}

// Where the machine is too small to plan: the kernels of a last, smaller batch are others.
TEST(Refusal, ARoughOneCountsTheKernelsOfAllBatches) {
  Sequential model({Input({8})});
  for (int i = 0; i < 100; ++i) model.add(Dense(8, "relu"));
  model.add(Dense(1));
  model.compile({.optimizer = Adam(), .loss = "mse"});
  const FitOptions options{.batch_size = 16, .verbose = 0, .memory = 1024_MiB};
  const Rows whole(32, 8), rest(33, 8);
  const auto most = [&](const Rows& rows) {
    const SourcePtr data = rows.regression();
    return most_bytes(model, data, options, fit_budget(model, data, options));
  };
  EXPECT_LT(most(whole) + 8_MiB, most(rest));
  EXPECT_GE(most(rest), model.plan(rest.regression(), options).total_bytes());
}

// Of the one model the rows of a batch are the largest part, of the other the optimizer's state.
TEST(Refusal, WhatItOffersFits) {
  if (testing::kSanitized) GTEST_SKIP() << "the sanitizer's own memory counts";
  const Rows rows(128, 8);
  for (const bool is_wide : {false, true}) {
    const auto fit = [&](const Optimizer& optimizer, int64_t batch_size, int64_t memory) {
      std::vector<Layer> layers = {Input({8}), Dense(is_wide ? 80000 : 4000, "relu")};
      if (!is_wide) layers.push_back(BatchNormalization());
      layers.push_back(Dense(1));
      Sequential model(layers);
      model.compile({.optimizer = optimizer, .loss = "mse"});
      model.fit(
          rows.regression(),
          {.batch_size = batch_size, .verbose = 0, .memory = memory, .spill = {.allowed = false}});
    };
    const auto refused = [&](int64_t memory) -> Refusal {
      try {
        fit(Adam(), 128, memory);
      } catch (const FitRefused& error) {
        return error.refusal();
      }
      ADD_FAILURE() << memory << " bytes are enough";
      return {};
    };
    const int64_t least = refused(1).least_bytes, less = least / 5 * 4;
    EXPECT_NO_THROW(fit(Adam(), 128, least));
    const Refusal refusal = refused(less);
    EXPECT_TRUE(is_wide ? refusal.fits_with_sgd : refusal.smaller_batch.has_value());
    if (refusal.smaller_batch) {
      EXPECT_NO_THROW(fit(Adam(), *refusal.smaller_batch, less));
    }
    if (refusal.fits_with_sgd) {
      EXPECT_NO_THROW(fit(SGD(), 128, less));
    }
  }
}

TEST(Refusal, OfAForwardPassNamesWhatWorks) {
  if (testing::kSanitized) GTEST_SKIP() << "the sanitizer's own memory counts";
  const Rows rows(512, 16);
  Sequential model({Input({16}), Dense(2000, "relu"), Dense(500, "relu"), Dense(1)});
  model.compile({.optimizer = Adam(), .loss = "mse"});
  const auto predict = [&](int64_t memory) {
    return model.predict(data::arrays(rows.inputs()), {.batch_size = 512, .memory = memory});
  };
  const auto evaluate = [&](int64_t memory) {
    return model.evaluate(rows.regression(), {.batch_size = 512, .memory = memory});
  };
  const auto least_of = [](const auto& call) -> int64_t {
    try {
      call(1);
    } catch (const FitRefused& error) {
      EXPECT_EQ(error.refusal().batch_size, 512);
      // In this process, which has run other fits, 0.3 MiB are chance.
      return error.refusal().least_bytes + 512_KiB;
    }
    ADD_FAILURE() << "a byte was enough";
    return 0;
  };
  EXPECT_EQ(predict(least_of(predict)), predict(0));
  EXPECT_EQ(evaluate(least_of(evaluate)), evaluate(0));
  EXPECT_THROW(predict(least_of(predict) / 2), FitRefused);
}

// A pass that a callback makes is within the fit's budget, or refused. Rows of doubles have slots.
TEST(Memory, PassesOfCallbacks) {
  if (testing::kSanitized) GTEST_SKIP() << "the sanitizer's own memory counts";
  constexpr int64_t kWide = 1'000'000;
  const std::vector<double> x(2 * kWide, 0.5);
  const std::vector<float> y = {1, 2};
  const Array inputs(x.data(), {2, kWide});
  const SourcePtr data = data::arrays(inputs, Array(y));
  const auto fit = [&](int64_t memory, int64_t own_memory) {
    Sequential model({Input({kWide}), Dense(1)});
    model.compile({.optimizer = SGD({.learning_rate = 1e-9}), .loss = "mse"});
    size_t predicted = 0;
    LambdaCallbackOptions predicts;
    predicts.on_epoch_end = [&](int, Logs&) {
      const EvaluateOptions options{.memory = own_memory};
      predicted = model.predict(data::arrays(inputs), options)[0].size();
    };
    model.fit(
        data,
        {.batch_size = 1, .callbacks = {LambdaCallback(predicts)}, .verbose = 0, .memory = memory});
    return predicted;
  };
  EXPECT_EQ(fit(0, 0), 2u);
  EXPECT_EQ(fit(256_MiB, 0), 2u);
  Sequential model({Input({kWide}), Dense(1)});
  model.compile({.optimizer = SGD({.learning_rate = 1e-9}), .loss = "mse"});
  const FitPlan plan = model.plan(data, {.batch_size = 1, .verbose = 0, .memory = 256_MiB});
  // What other tests have left in the heap moves the need by up to 0.3 MiB.
  const int64_t tight = plan.needed_bytes() + 512_KiB;
  EXPECT_EQ(fit(tight, 256_MiB), 2u);
  const std::string text = message_of<BudgetError>([&] { fit(tight, 0); });
  EXPECT_NE(text.find("while a fit runs, whose budget leaves"), std::string::npos) << text;
}

class Counting final : public Callback {
 public:
  std::string calls;
  void on_test_begin() override { calls += "t("; }
  void on_test_batch_begin(int64_t) override { calls += "<"; }
  void on_test_batch_end(int64_t, const Logs&) override { calls += ">"; }
  void on_test_end(const Logs& logs) override { calls += logs.contains("loss") ? ")" : "?"; }
  void on_predict_begin() override { calls += "p("; }
  void on_predict_batch_end(int64_t) override { calls += "."; }
  void on_predict_end() override { calls += ")"; }
};

TEST(Evaluate, CallsItsCallbacks) {
  const Rows rows(40, 8);
  Sequential model = regression_model(8);
  const auto counting = std::make_shared<Counting>();
  model.evaluate(rows.regression(), {.batch_size = 16, .callbacks = {counting}});
  model.predict(data::arrays(rows.inputs()), {.batch_size = 16, .callbacks = {counting}});
  EXPECT_EQ(counting->calls, "t(<><><>)p(...)");
}

// Takes more memory than there is, once it is armed.
class Greedy final : public LayerDefinition {
 public:
  explicit Greedy(const bool* armed) : armed_(armed) {}
  std::string_view class_name() const override { return "Greedy"; }
  void settings(SettingVisitor&) override {}
  Values call(Tracer&, const Values& in) override {
    if (*armed_) throw std::bad_alloc();
    return in;
  }

 private:
  const bool* armed_;
};

// Without a budget, too: each call by its own name.
TEST(Refusal, NamesTheCallThatHasNoRoom) {
  const Rows rows(40, 8);
  bool armed = false;
  Sequential model({Input({8}), make_layer<Greedy>(&armed), Dense(1)});
  model.compile({.loss = "mse"});
  model.evaluate(rows.regression());
  armed = true;
  for (const bool whole_process : {false, true}) {
    const std::string evaluate = message_of<BudgetError>(
        [&] { model.evaluate(rows.regression(), {.whole_process = whole_process}); });
    const std::string predict = message_of<BudgetError>([&] {
      model.predict(data::arrays(rows.inputs()), EvaluateOptions{.whole_process = whole_process});
    });
    EXPECT_TRUE(evaluate.starts_with("evaluate: ")) << evaluate;
    EXPECT_TRUE(predict.starts_with("predict: ")) << predict;
    EXPECT_EQ((evaluate + predict).find("fit: "), std::string::npos) << evaluate << predict;
  }
}

TEST(Labels, OneThatIsIgnoredMayBeAnyNumber) {
  const Rows rows(8, 4);
  std::vector<int32_t> labels = {0, 1, 2, -1, 0, 1, 2, -1};
  Sequential model({Input({4}), Dense(3, "softmax")});
  model.compile({.optimizer = SGD(), .loss = SparseCategoricalCrossentropy({.ignore_class = -1})});
  const SourcePtr data = data::arrays(rows.inputs(), Array(labels));
  EXPECT_TRUE(std::isfinite(model.fit(data, {.verbose = 0}).history.at("loss")[0]));
  labels[5] = -2;
  EXPECT_THROW(model.fit(data, {.verbose = 0}), DataError);
}

}  // namespace
}  // namespace snug::testing
