#include "snug/train/step_guard.h"

#include <gtest/gtest.h>

#include <cmath>

#include "snug/base/error.h"
#include "snug/data/dataset.h"
#include "snug/data/generator.h"
#include "snug/data/source_testing.h"
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

}  // namespace
}  // namespace snug::testing
