#include "snug/train/step_guard.h"

#include <gtest/gtest.h>

#include <cmath>

#include "snug/base/error.h"
#include "snug/data/dataset.h"
#include "snug/data/generator.h"
#include "snug/data/source_testing.h"
#include "snug/nn/embedding.h"
#include "snug/nn/shape_layers.h"
#include "snug/ops/ops.h"
#include "snug/train/callbacks.h"
#include "snug/train/fit.h"
#include "snug/train/fit_testing.h"
#include "snug/train/trace.h"
#include "snug/train/trivial_loss.h"

namespace snug::testing {
namespace {

Dataset batches(const Rows& rows, int64_t size) {
  return Dataset::from_tensor_slices(rows.inputs(), Array(rows.y)).batch(size);
}

Step traced(Model& model, const OptimizerState& optimizer, const Dataset& dataset, bool guard) {
  return trace(dataset.spec(), {.guard = guard}, [&](const Values& x, const Values& y) {
    GradientTape tape;
    const Value predictions = model(x[0]);
    const Value loss = MeanSquaredError()(ops::reshape(y[0], predictions.shape()), predictions);
    optimizer.apply_gradients(tape.gradient(loss, model.trainable_variables()),
                              model.trainable_variables());
    return loss;
  });
}

TEST(StepGuard, GuardsTracedSteps) {
  const Rows rows(40, 3);
  const Dataset dataset = batches(rows, 16);
  Sequential model = small_model(3);
  const OptimizerState optimizer(SGD({.learning_rate = 1e30}));
  Step step = traced(model, optimizer, dataset, true);
  std::vector<std::vector<float>> before;
  int64_t steps = 0;
  const std::string message = message_of<NumericsError>([&] {
    for (int epoch = 0; epoch < 10; ++epoch) {
      for (const Batch& batch : dataset) {
        before = model.get_weights();
        step(batch);
        ++steps;
      }
    }
  });
  expect_within(message, fmt::format("step: step {} of epoch 1 was not committed", steps + 1));
  EXPECT_EQ(model.get_weights(), before);
  EXPECT_EQ(optimizer.iterations(), steps);
}

TEST(StepGuard, CanBeSwitchedOffForTracedSteps) {
  const Rows rows(40, 3);
  const Dataset dataset = batches(rows, 16);
  Sequential model = small_model(3);
  const OptimizerState optimizer(SGD({.learning_rate = 1e30}));
  Step step = traced(model, optimizer, dataset, false);
  float loss = 0;
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (const Batch& batch : dataset) loss = step(batch);
  }
  EXPECT_FALSE(std::isfinite(loss));
}

// Batches of other sizes come and go; each is looked at in its own program.
TEST(StepGuard, LooksAtEveryProgram) {
  const Rows rows(40, 3);
  const Dataset large = batches(rows, 16), small = batches(rows, 7);
  Sequential model = small_model(3);
  const OptimizerState optimizer(SGD({.learning_rate = 0.01}));
  Step step = traced(model, optimizer, large, true);
  for (int round = 0; round < 3; ++round) {
    for (const Batch& batch : small.take(3)) step(batch);
    for (const Batch& batch : large) step(batch);
  }
  model.weights()[0]->tensor().as<float>()[0] = NAN;
  for (const Dataset* dataset : {&small, &large}) {
    EXPECT_THROW(step(*dataset->begin()), NumericsError);
  }
}

// A source of unknown length ends with another rest each time, whose program may stand where one of
// another stood. Rows that are all alike have one gradient, however many they are.
TEST(StepGuard, LooksAtEveryRestOfASource) {
  const std::vector<int64_t> rests = {5, 3, 7, 2, 6, 4, 1, 7, 3, 5};
  int64_t pass = -1, given = 0;
  const SourcePtr source = data::generator(
      [&](std::span<const Tensor> slots) -> int64_t {
        if (given == rests.at(static_cast<size_t>(pass))) return 0;
        ++given;
        for (int64_t i = 0; i < 3; ++i) slots[0].as<float>()[i] = 0.5F;
        slots[1].as<float>()[0] = 2;
        return 1;
      },
      {.x = Shape{3}, .y = Shape{}, .restart = [&] {
         ++pass;
         given = 0;
       }});
  class Norms final : public Callback {
   public:
    std::vector<double> all;
    void on_train_batch_end(int64_t, const Logs&) override {
      all.push_back(params().last_step->gradient_norm.value());
    }
  };
  const auto norms = std::make_shared<Norms>();
  Sequential model = regression_model(3, SGD({.learning_rate = 0}));
  model.fit(source, {.batch_size = 8,
                     .epochs = static_cast<int>(rests.size()),
                     .callbacks = {norms},
                     .verbose = 0});
  ASSERT_EQ(norms->all.size(), rests.size());
  for (const double norm : norms->all) EXPECT_NEAR(norm, norms->all[0], 1e-4 * norms->all[0]);
}

// Another has written to a weight between two steps, and the gradients do not show it.
TEST(StepGuard, NamesAWeightThatACallbackSpoiled) {
  const Rows rows(40, 3);
  Sequential model = regression_model(3, SGD({.learning_rate = 0.01, .weight_decay = 10}));
  const auto spoil = LambdaCallback({.on_train_batch_begin = [&](int64_t batch) {
    if (batch == 1) model.weights().back()->tensor().as<float>()[0] = 3.4e38f;
  }});
  EXPECT_THROW(model.fit(rows.regression(), {.batch_size = 8, .callbacks = {spoil}, .verbose = 0}),
               NumericsError);
}

// A row of a table that no batch reads: the loss and the gradients are finite, whatever the rule.
TEST(StepGuard, ANaNThatNoGradientShowsIsFoundBeforeTheUpdate) {
  constexpr int64_t kRows = 16, kIds = 3, kWidth = 2, kUnread = 7;
  const std::vector<float> ids(kRows * kIds, 2), y(kRows, 1);
  const SourcePtr data = data::arrays({.x = {Array(ids.data(), {kRows, kIds})}, .y = {Array(y)}});
  for (const Optimizer& optimizer : {SGD({.weight_decay = 0.1}), AdamW(), Lion()}) {
    Sequential model({Input({kIds}), Embedding(10, kWidth), Flatten(), Dense(1)});
    model.compile({.optimizer = optimizer, .loss = "mse"});
    model.ensure_weights(0);
    model.weights()[0]->tensor().as<float>()[kUnread * kWidth] = NAN;
    const std::vector<float> before = model.get_weights()[1];
    EXPECT_THROW(model.fit(data, {.batch_size = kRows, .verbose = 0}), NumericsError);
    EXPECT_EQ(model.get_weights()[1], before) << "the update was committed";
  }
}

double trivial(const LossSpec& loss, const SourcePtr& data, int64_t units) {
  Sequential model = small_model(3, units);
  model.compile({.loss = loss});
  FitRun run(model, data, {.verbose = 0, .guard = {.policy = GuardOptions::Policy::off}});
  run.run();
  Runner& runner = *run.plan().training;
  TrivialLoss trivial(model.compiled(), runner.step());
  trivial.look(*runner.programs()[0]);
  trivial.add();
  return trivial.loss();
}

TEST(TrivialLoss, FollowsTheTargets) {
  Rows rows(32, 3);
  for (int i = 0; i < 32; ++i) rows.y[i] = i % 2 == 0 ? 5.0f : 1.0f;
  EXPECT_NEAR(trivial("mse", rows.regression(), 1), 4, 1e-6);
  EXPECT_NEAR(trivial("mae", rows.regression(), 1), 2, 1e-6);
  EXPECT_NEAR(trivial("huber", rows.regression(), 1), 2, 1e-6);
  EXPECT_EQ(trivial("poisson", rows.regression(), 1), 1);
  EXPECT_NEAR(trivial(SparseCategoricalCrossentropy({.from_logits = true}), rows.classes(), 4),
              std::log(4), 1e-6);
}

// The update alone would be small enough: what it is added to must be known, whichever thread looks
// there.
TEST(StepGuard, LooksAtAllWeightsOnAllThreads) {
  constexpr int64_t kWeights = 70'001;
  for (const int threads : {1, 2, 3}) {
    for (const int64_t at : {int64_t{0}, kWeights / 2, kWeights / 2 + 1, kWeights - 1}) {
      std::vector<float> x(kWeights), weights(kWeights);
      const std::vector<float> y = {1e38F};
      x[at] = 1e-2F;
      weights[at] = 3.402e38F;
      Sequential model({Input({kWeights}), Dense(1, {.use_bias = false})});
      model.compile({.optimizer = SGD({.learning_rate = 1e38}), .loss = "mae"});
      model.set_weights({weights});
      const std::string message = message_of<NumericsError>([&] {
        model.fit(data::arrays(Array(x.data(), {1, kWeights}), Array(y)),
                  {.verbose = 0, .threads = threads});
      });
      expect_within(message, "dense/kernel would become inf");
      EXPECT_EQ(model.get_weights()[0], weights) << at << " on " << threads;
    }
  }
}

}  // namespace
}  // namespace snug::testing
