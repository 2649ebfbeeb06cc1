// A bad update is never committed.
#include "snug/train/fit_guard.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "snug/base/error.h"
#include "snug/data/source_testing.h"
#include "snug/data/split.h"
#include "snug/nn/activation_layers.h"
#include "snug/nn/convolution.h"
#include "snug/nn/dropout.h"
#include "snug/nn/normalization.h"
#include "snug/nn/pooling.h"
#include "snug/nn/shape_layers.h"
#include "snug/train/callbacks.h"
#include "snug/train/fit.h"
#include "snug/train/fit_testing.h"
#include "snug/train/poison_testing.h"

namespace snug::testing {
namespace {

using Bits = std::vector<std::byte>;

// All that a training step writes, byte by byte.
Bits state_of(Model& model) {
  Variables variables = model.weights();
  const Compiled& compiled = model.compiled();
  for (const VariablePtr& slot : compiled.slots()) variables.push_back(slot);
  for (const VariablePtr& metric : model.compiled().phase(true, {}).state())
    variables.push_back(metric);
  Bits bits;
  for (const VariablePtr& variable : variables) {
    const Tensor tensor = variable->tensor();
    const auto* data = static_cast<const std::byte*>(tensor.data);
    bits.insert(bits.end(), data, data + tensor.bytes());
    if (tensor.dtype() != DType::float32) continue;
    for (const float value : tensor.as<float>()) EXPECT_TRUE(std::isfinite(value));
  }
  return bits;
}

// A model with a place for poison behind each layer.
struct PoisonedModel {
  PoisonPtr poison[3] = {std::make_shared<Poison>(), std::make_shared<Poison>(),
                         std::make_shared<Poison>()};
  Sequential model;
  explicit PoisonedModel(uint64_t kind)
      : model({Input({3}), Dense(5, kind % 2 == 0 ? "relu" : "tanh"),
               PoisonLayer(poison[0], "poison_0"),
               kind % 3 == 0 ? BatchNormalization() : Dropout(0.2),
               PoisonLayer(poison[1], "poison_1"), Dense(4, "sigmoid"),
               PoisonLayer(poison[2], "poison_2"), Dense(1)}) {
    const Optimizer optimizers[] = {
        Adam(), SGD({.momentum = 0.9}), RMSprop(), Adagrad(), Adadelta(), Adamax(), Nadam(),
        Lion(), SGD({.clipnorm = 1})};
    model.compile(
        {.optimizer = optimizers[kind % std::size(optimizers)], .loss = "mse", .metrics = {"mae"}});
  }
};

// 500 faults, forward and backward, at random layers, rows and steps: each stops the run with the
// layer and the row, and leaves everything as after the step before.
TEST(Guard, InjectedFaultsAreNeverCommitted) {
  const Rows rows(40, 3);
  int stopped = 0;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    std::mt19937_64 random(seed);
    PoisonedModel poisoned(random());
    const size_t where = random() % 3;
    const float values[] = {NAN, INFINITY, -INFINITY};
    Poison& poison = *poisoned.poison[where];
    poison = {.armed = true,
              .backward = random() % 2 == 0,
              .epoch = random() % 2,
              .position = random() % 40,
              .value = values[random() % 3]};
    const auto source = std::make_shared<RecordingSource>(rows.regression());
    Bits last;
    const auto watch =
        LambdaCallback({.on_train_batch_begin = [&](int64_t) { last = state_of(poisoned.model); }});
    std::string message;
    try {
      poisoned.model.fit(source, {.batch_size = 8,
                                  .epochs = 3,
                                  .callbacks = {watch},
                                  .verbose = 0,
                                  .threads = 1 + static_cast<int>(random() % 2),
                                  .seed = seed});
      // It fell on an element that dropout or a ReLU had switched off.
      state_of(poisoned.model);
      continue;
    } catch (const NumericsError& error) {
      message = error.what();
      ++stopped;
    }
    EXPECT_EQ(state_of(poisoned.model), last) << "seed " << seed;
    const int64_t row = source->batches.back()[poison.position % 8];
    expect_within(message,
                  fmt::format("step {} of epoch {} ", poison.position / 8 + 1, poison.epoch + 1));
    expect_within(message, fmt::format("poison_{}/poison", where));
    expect_within(message, fmt::format("for row {} of the data", row));
    if (HasFailure()) FAIL() << "seed " << seed << ": " << message;
  }
  EXPECT_GT(stopped, 400);
}

// What is huge but finite either stops the run or does no harm.
TEST(Guard, HugeValuesNeverReachTheWeights) {
  const Rows rows(40, 3);
  int stopped = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    std::mt19937_64 random(seed);
    PoisonedModel poisoned(random());
    const float values[] = {3e38f, -3e38f, 1e30f, 1e20f};
    *poisoned.poison[random() % 3] = {.armed = true,
                                      .backward = random() % 2 == 0,
                                      .epoch = 0,
                                      .position = random() % 40,
                                      .value = values[random() % 4]};
    try {
      poisoned.model.fit(rows.regression(), {.batch_size = 8, .epochs = 2, .verbose = 0});
    } catch (const NumericsError&) {
      ++stopped;
    }
    state_of(poisoned.model);
    if (HasFailure()) FAIL() << "seed " << seed;
  }
  EXPECT_GT(stopped, 20);
}

// S9 of pains.md: Adam with a rate of 100.
TEST(Guard, ARateOfAHundredIsStopped) {
  const Rows rows(100, 10);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Sequential model({Input({10}), Dense(64, "relu"), Dense(64, "relu"), Dense(1)});
    model.compile({.optimizer = Adam({.learning_rate = 100}), .loss = "mse"});
    const std::string message = message_of<NumericsError>(
        [&] { model.fit(rows.regression(), {.epochs = 10, .verbose = 0, .seed = seed}); });
    expect_within(message, "learning rate");
    state_of(model);
  }
}

TEST(Guard, AnOverflowingMomentIsNamed) {
  const Rows rows(40, 3);
  Sequential model({Input({3}), Dense(1)});
  model.compile({.optimizer = Adam(), .loss = "mse"});
  std::vector<float> y(40, 1e20f);
  // The loss itself would overflow: the guard looks at gradients, so keep it finite by a weight.
  const std::vector<float> weight(40, 1e-15f);
  const auto source =
      data::arrays({.x = {rows.inputs()}, .y = {Array(y)}, .sample_weight = Array(weight)});
  const std::string message = message_of<NumericsError>(
      [&] { model.fit(source, {.verbose = 0, .guard = {.most_gradient = 1e38}}); });
  expect_within(message, "was not committed");
  state_of(model);
}

TEST(Guard, NanBehindAReluIsNamedByItsRow) {
  Rows rows(100, 3);
  rows.x[77 * 3 + 1] = NAN;
  Sequential model({Input({3}), Dense(16, "relu"), Dense(1)});
  model.compile({.loss = "mse"});
  const std::string message =
      message_of<DataError>([&] { model.fit(rows.regression(), {.verbose = 0}); });
  expect_within(message, "row 77");
  state_of(model);
}

TEST(Guard, ANanPixelIsNamedByItsRow) {
  Rows rows(40, 64);
  rows.x[23 * 64 + 5] = NAN;
  Sequential model({Input({64}), Reshape({8, 8, 1}), Conv2D(4, 3, {.activation = "relu"}),
                    MaxPooling2D(), Flatten(), Dense(1)});
  model.compile({.loss = "mse"});
  const std::string message =
      message_of<DataError>([&] { model.fit(rows.regression(), {.verbose = 0}); });
  expect_within(message, "row 23");
  state_of(model);
}

// Not by the number that it has among those that are trained on.
TEST(Guard, ARowOfASplitIsNamedAsTheDataHasIt) {
  Rows rows(100, 3);
  rows.x[77 * 3 + 1] = 3e38F;
  Sequential model({Input({3}), Dense(16), Dense(1)});
  model.compile({.loss = "mse"});
  const data::SplitData split =
      data::split(rows.regression(), {.share = 0.2, .kind = SplitKind::random, .seed = 3});
  const std::string message =
      message_of<NumericsError>([&] { model.fit(split.train, {.verbose = 0}); });
  expect_within(message, "for row 77 of the data");
}

TEST(Guard, SkipLeavesTheBatchOut) {
  const Rows rows(40, 3);
  PoisonedModel poisoned(0), clean(0);
  *poisoned.poison[0] = {.armed = true, .epoch = 1, .position = 17, .value = NAN};
  LogText log;
  FitOptions options{
      .batch_size = 8, .epochs = 3, .verbose = 0, .guard = {.policy = GuardOptions::Policy::skip}};
  const History history = poisoned.model.fit(rows.regression(), options);
  EXPECT_EQ(history.epoch.size(), 3);
  EXPECT_EQ(poisoned.model.compiled().iterations(), 14);
  expect_within(log.messages, "skipped a batch: step 3 of epoch 2");
  expect_within(log.messages, "`guard: rollback` goes back");
  EXPECT_EQ(log.messages.find("`guard: skip`"), std::string::npos) << "it is on already";
  for (const double loss : history.history.at("loss")) EXPECT_TRUE(std::isfinite(loss));
  state_of(poisoned.model);
}

TEST(Guard, SkippingHasItsLimits) {
  const Rows rows(40, 3);
  for (const bool in_a_row : {true, false}) {
    Sequential model = regression_model(3, SGD({.learning_rate = 1e25}));
    GuardOptions guard{.policy = GuardOptions::Policy::skip,
                       .most_skips_in_a_row = in_a_row ? 2 : 1000,
                       .most_skips = in_a_row ? 1000 : 3};
    const LogText log;
    const std::string message = message_of<NumericsError>([&] {
      model.fit(rows.regression(), {.batch_size = 4, .epochs = 50, .verbose = 0, .guard = guard});
    });
    expect_within(message, in_a_row ? "3. bad batch in a row" : "4. of the run");
    state_of(model);
  }
}

// An epoch of which nothing is left has no loss, which would be the best of all as 0.
TEST(Guard, AnEpochThatWasSkippedWholeStopsTheRun) {
  const Rows rows(16, 3);
  PoisonedModel poisoned(0);
  for (const uint64_t place : {0, 1}) {
    *poisoned.poison[place] = {.armed = true, .epoch = 1, .position = 3 + 8 * place, .value = NAN};
  }
  const LogText log;
  int64_t epochs = 0;
  const auto count = LambdaCallback({.on_epoch_end = [&](int, Logs&) { ++epochs; }});
  const std::string message = message_of<NumericsError>([&] {
    poisoned.model.fit(rows.regression(), {.batch_size = 8,
                                           .epochs = 3,
                                           .callbacks = {count},
                                           .verbose = 0,
                                           .guard = {.policy = GuardOptions::Policy::skip}});
  });
  expect_within(message, "every batch of epoch 2 was skipped");
  EXPECT_EQ(epochs, 1);
  state_of(poisoned.model);
}

// Some batches are no pass over the data: what comes next may be good.
TEST(Guard, AFewStepsThatWereSkippedAreNoEnd) {
  const Rows rows(40, 3);
  for (const int64_t steps : {1, 2}) {
    PoisonedModel poisoned(0);
    *poisoned.poison[0] = {.armed = true, .epoch = 0, .position = 17, .value = NAN};
    *poisoned.poison[1] = {.armed = true, .epoch = 0, .position = 25, .value = NAN};
    const LogText log;
    const History history =
        poisoned.model.fit(rows.regression(), {.batch_size = 8,
                                               .epochs = 5,
                                               .steps_per_epoch = steps,
                                               .verbose = 0,
                                               .guard = {.policy = GuardOptions::Policy::skip}});
    const std::vector<double>& loss = history.history.at("loss");
    ASSERT_EQ(loss.size(), 5);
    // A pass has 5 batches, so that every third epoch of two steps has one.
    EXPECT_EQ(poisoned.model.compiled().iterations(), steps == 1 ? 3 : 7);
    for (size_t epoch = 0; epoch < loss.size(); ++epoch) {
      const bool was_skipped = steps == 1 ? epoch == 2 || epoch == 3 : epoch == 1;
      EXPECT_EQ(std::isnan(loss[epoch]), was_skipped) << epoch;
    }
    expect_within(log.messages, steps == 1 ? "every batch of epoch 3 was skipped, so it has no loss"
                                           : "every batch of epoch 2 was skipped");
    state_of(poisoned.model);
  }
}

TEST(Guard, FewStepsThatAreAllSkippedHaveALimit) {
  const Rows rows(40, 3);
  Sequential model = regression_model(3, SGD({.learning_rate = 1e25}));
  const LogText log;
  const std::string message = message_of<NumericsError>([&] {
    model.fit(rows.regression(), {.batch_size = 4,
                                  .epochs = 50,
                                  .steps_per_epoch = 1,
                                  .verbose = 0,
                                  .guard = {.policy = GuardOptions::Policy::skip}});
  });
  expect_within(message, "4. bad batch in a row");
}

TEST(Guard, RollbackGoesBackAndLowersTheRate) {
  const Rows rows(40, 3);
  PoisonedModel poisoned(0);
  *poisoned.poison[1] = {.armed = true, .epoch = 0, .position = 33, .value = INFINITY};
  int64_t batches = 0;
  const auto disarm = LambdaCallback({.on_train_batch_begin = [&](int64_t) {
    if (++batches > 5) poisoned.poison[1]->armed = false;
  }});
  LogText log;
  const auto source = std::make_shared<RecordingSource>(rows.regression());
  poisoned.model.fit(source,
                     {.batch_size = 8,
                      .epochs = 2,
                      .callbacks = {disarm},
                      .verbose = 0,
                      .guard = {.policy = GuardOptions::Policy::rollback, .rollback_steps = 3}});
  // The copy was taken at the 4th step: steps 4 and 5 come twice.
  expect_within(log.messages, "Rolled back 1 steps, rows included");
  expect_within(log.messages, "multiplied by 0.5");
  EXPECT_EQ(poisoned.model.compiled().iterations(), 10);
  EXPECT_EQ(source->batches.size(), 12);
  EXPECT_EQ(source->batches[3], source->batches[5]);
  EXPECT_EQ(source->batches[4], source->batches[6]);
}

TEST(Guard, RollbackHasItsLimits) {
  const Rows rows(40, 3);
  PoisonedModel poisoned(1);
  *poisoned.poison[1] = {.armed = true, .epoch = 0, .position = 33, .value = INFINITY};
  const LogText log;
  const std::string message = message_of<NumericsError>([&] {
    poisoned.model.fit(rows.regression(),
                       {.batch_size = 8,
                        .verbose = 0,
                        .guard = {.policy = GuardOptions::Policy::rollback, .most_rollbacks = 2}});
  });
  expect_within(message, "rolled back 2 times before");
  state_of(poisoned.model);
}

TEST(Guard, OffLooksAtNothing) {
  const Rows rows(40, 3);
  PoisonedModel poisoned(1);
  *poisoned.poison[1] = {.armed = true, .epoch = 0, .position = 33, .value = NAN};
  const History history = poisoned.model.fit(
      rows.regression(), {.verbose = 0, .guard = {.policy = GuardOptions::Policy::off}});
  EXPECT_TRUE(std::isnan(history.history.at("loss")[0]));
}

// The guard looks, it does not touch: the same bits with and without it.
TEST(Guard, DoesNotShowInTheBits) {
  const Rows rows(70, 3);
  std::vector<std::vector<std::vector<float>>> weights;
  for (const auto policy : {GuardOptions::Policy::off, GuardOptions::Policy::stop,
                            GuardOptions::Policy::skip, GuardOptions::Policy::rollback}) {
    PoisonedModel model(0);
    model.model.fit(rows.regression(), {.epochs = 3, .verbose = 0, .guard = {.policy = policy}});
    weights.push_back(model.model.get_weights());
    EXPECT_EQ(weights.back(), weights.front());
  }
}

TEST(Guard, RefusesNumbersThatMakeNoSense) {
  const Rows rows(40, 3);
  Sequential model = regression_model(3);
  const auto refusal = [&](const GuardOptions& guard) {
    return message_of([&] { model.fit(rows.regression(), {.verbose = 0, .guard = guard}); });
  };
  expect_within(refusal({.most_skips = -1}), "guard: most_skips is -1; it must be 0 or more");
  expect_within(refusal({.rollback_steps = 0}), "rollback_steps is 0");
  expect_within(refusal({.rollback_rate = 0}), "rollback_rate is 0");
  expect_within(refusal({.most_gradient = NAN}), "most_gradient is nan");
  expect_within(refusal({.most_loss = 1}), "most_loss is 1");
}

}  // namespace
}  // namespace snug::testing
