#include "snug/train/trace.h"

#include <gtest/gtest.h>

#include <iterator>
#include <map>

#include "snug/base/error.h"
#include "snug/data/source_testing.h"
#include "snug/nn/dropout.h"
#include "snug/nn/embedding.h"
#include "snug/nn/operators.h"
#include "snug/nn/pooling.h"
#include "snug/ops/ops.h"
#include "snug/train/fit_testing.h"

namespace snug::testing {
namespace {

Dataset batches(const Rows& rows, int64_t size) {
  return Dataset::from_tensor_slices(rows.inputs(), Array(rows.y)).batch(size);
}

Sequential dropping_model() {
  return Sequential({Input({3}), Dense(8, {.activation = "relu", .kernel_regularizer = l2(0.01)}),
                     Dropout(0.25), Dense(1)});
}

// The step of one's own that fit's is.
Step training_step_of(Model& model, const OptimizerState& optimizer, const Dataset& dataset) {
  return trace(dataset.spec(), {}, [&](const Values& x, const Values& y) {
    GradientTape tape;
    const Value predictions = model(x[0]);
    Value loss = MeanSquaredError()(ops::reshape(y[0], predictions.shape()), predictions);
    for (const Value& added : added_losses()) loss = ops::add(loss, added);
    optimizer.apply_gradients(tape.gradient(loss, model.trainable_variables()),
                              model.trainable_variables());
    return loss;
  });
}

TEST(Trace, TheSameBitsAsFit) {
  const Rows rows(40, 3);
  Sequential fitted = dropping_model();
  fitted.compile({.optimizer = Adam({.clipnorm = 0.5}), .loss = "mse"});
  const History history = fitted.fit(
      rows.regression(), {.batch_size = 16, .epochs = 3, .shuffle = false, .verbose = 0});

  Sequential model = dropping_model();
  const OptimizerState optimizer(Adam({.clipnorm = 0.5}));
  const Dataset dataset = batches(rows, 16);
  Step step = training_step_of(model, optimizer, dataset);
  std::vector<double> losses;
  for (uint64_t epoch = 0; epoch < 3; ++epoch) {
    step.begin_epoch(epoch);
    double sum = 0;
    for (const Batch& batch : dataset) sum += static_cast<double>(step(batch)) * batch.rows;
    losses.push_back(sum / 40);
  }
  EXPECT_EQ(model.get_weights(), fitted.get_weights());
  EXPECT_EQ(optimizer.iterations(), 9);  // 16, 16 and 8 rows, three times.
  for (size_t i = 0; i < losses.size(); ++i)
    EXPECT_NEAR(losses[i], history.history.at("loss")[i], 1e-6);
}

TEST(Trace, SlotsInsteadOfABatch) {
  const Rows rows(16, 3);
  Sequential model = regression_model(3), other = regression_model(3);
  other.train_on_batch(rows.regression());
  const Dataset dataset = batches(rows, 16);
  Step step = training_step_of(model, OptimizerState(SGD()), dataset);
  std::ranges::copy(rows.x, step.input(0).as<float>().begin());
  std::ranges::copy(rows.y, step.target(0).as<float>().begin());
  step.run();
  EXPECT_EQ(model.get_weights(), other.get_weights());
}

TEST(Trace, SlotsAndResultsThatThereAreNot) {
  const BatchSpec spec{.inputs = {{DType::float32, {kRows, 2}}, {DType::float32, {kRows, 2}}},
                       .targets = {},
                       .batch_size = 4};
  Step step = trace(spec, {}, [](const Values& x, const Values&) { return ops::square(x[1]); });
  EXPECT_EQ(message_of([&] { step.input(2); }),
            "step: there is no input 2; it has 2, counted from 0");
  EXPECT_EQ(message_of([&] { step.target(0); }),
            "step: there is no target 0; it has 0, counted from 0");
  EXPECT_EQ(message_of([&] { step.result(0); }),
            "step: result 0 was asked for before the first run");
  std::ranges::fill(step.input(1).as<float>(), 3.0F);
  EXPECT_EQ(step.run(), 9);
  EXPECT_EQ(message_of([&] { step.result(1); }),
            "step: there is no result 1; it has 1, counted from 0");
}

// A step for each length of rows, in one arena that is as large as the longest needs: what a row
// has for padding is never computed.
TEST(Trace, AStepForEachBucket) {
  std::vector<int32_t> tokens, labels;
  std::vector<int64_t> splits = {0};
  for (int32_t row = 0; row < 60; ++row) {
    tokens.insert(tokens.end(), static_cast<size_t>(1 + row % 16), 1 + row % 2);
    splits.push_back(std::ssize(tokens));
    labels.push_back(row % 2);
  }
  const Dataset dataset =
      Dataset::from_ragged({.values = Array(tokens), .row_splits = splits, .longest = 16},
                           Array(labels))
          .bucket_by_sequence_length({.lengths = {4, 8}, .batch_size = 10});
  const Layer embedding = Embedding(3, 4, {.mask_zero = true}), pool = GlobalAveragePooling1D(),
              head = Dense(2, "softmax");
  const OptimizerState optimizer(Adam({.learning_rate = 0.05F}));
  auto arena = std::make_shared<StepArena>();
  std::map<int64_t, Step> steps;
  size_t longest = 0;
  for (const BatchSpec& spec : dataset.specs()) {
    Step step = trace(spec, {.arena = arena}, [&](const Values& x, const Values& y) {
      GradientTape tape;
      const Value loss = SparseCategoricalCrossentropy()(y[0], head(pool(embedding(x[0]))));
      Variables variables = embedding.trainable_weights();
      std::ranges::copy(head.trainable_weights(), std::back_inserter(variables));
      optimizer.apply_gradients(tape.gradient(loss, variables), variables);
      return loss;
    });
    longest = std::max(longest, step.program().arena_bytes());
    steps.emplace(spec.inputs[0].shape[1], std::move(step));
  }
  EXPECT_EQ(steps.size(), 3u);
  EXPECT_EQ(arena->bytes(), longest);
  float first = 0, last = 0;
  for (int epoch = 0; epoch < 20; ++epoch) {
    last = 0;
    for (const Batch& batch : dataset) last += steps.at(batch.x[0].type.shape[1])(batch);
    if (epoch == 0) first = last;
  }
  EXPECT_LT(last, first / 2);
}

// A GAN's two steps: they share both models' variables and one arena, and each moves its own.
TEST(Trace, TwoOptimizersShareVariables) {
  const Rows rows(8, 3);
  Sequential generator({Input({3}), Dense(6, "tanh"), Dense(3)});
  Sequential judge({Input({3}), Dense(6, "tanh"), Dense(1, "sigmoid")});
  const OptimizerState generator_optimizer(Adam()), judge_optimizer(Adam());
  const BatchSpec spec{.inputs = {{DType::float32, {kRows, 3}}, {DType::float32, {kRows, 3}}},
                       .targets = {},
                       .batch_size = 8};
  const Loss loss = BinaryCrossentropy();
  const auto like = [](Value of, float value) {
    return ops::add_scalar(ops::multiply_scalar(of, 0), value);
  };

  Step train_judge = trace(spec, {}, [&](const Values& x, const Values&) {
    GradientTape tape;
    const Value real = judge(x[0]), fake = judge(generator(x[1]));
    const Value total = ops::add(loss(like(real, 1), real), loss(like(fake, 0), fake));
    judge_optimizer.apply_gradients(tape.gradient(total, judge.trainable_variables()),
                                    judge.trainable_variables());
    return total;
  });
  Step train_generator =
      trace(spec, {.arena = train_judge.arena()}, [&](const Values& x, const Values&) {
        GradientTape tape;
        const Value fake = judge(generator(x[1]));
        const Value total = loss(like(fake, 1), fake);
        generator_optimizer.apply_gradients(tape.gradient(total, generator.trainable_variables()),
                                            generator.trainable_variables());
        return Values{total, fake};
      });
  EXPECT_EQ(train_judge.arena(), train_generator.arena());

  const Tensor x{{DType::float32, {8, 3}}, const_cast<float*>(rows.x.data())};
  const Batch batch{.rows = 8, .x = {x, x}, .y = {}};
  const float first = train_judge(batch);
  const auto judge_weights = judge.get_weights(), generator_weights = generator.get_weights();
  train_generator(batch);
  EXPECT_EQ(judge.get_weights(), judge_weights);
  EXPECT_NE(generator.get_weights(), generator_weights);
  EXPECT_EQ(train_generator.result(1).shape(), (Shape{8, 1}));
  float last = 0;
  for (int i = 0; i < 200; ++i) last = train_judge(batch);
  EXPECT_LT(last, first);
  EXPECT_EQ(judge_optimizer.iterations(), 201);
  EXPECT_EQ(generator_optimizer.iterations(), 1);
}

// Both updates of one step see the variables as they were.
TEST(Trace, TwoUpdatesInOneStep) {
  const Rows rows(8, 3);
  const Layer a = Dense(1), b = Dense(1);
  const OptimizerState first(SGD()), second(SGD());
  const Dataset dataset = batches(rows, 8);
  Step step = trace(dataset.spec(), {}, [&](const Values& x, const Values& y) {
    GradientTape tape;
    const Value loss =
        MeanSquaredError()(ops::reshape(y[0], {kRows, 1}), ops::add(a(x[0]), b(x[0])));
    first.apply_gradients(tape.gradient(loss, a.trainable_weights()), a.trainable_weights());
    second.apply_gradients(tape.gradient(loss, b.trainable_weights()), b.trainable_weights());
    return loss;
  });
  const auto before_a = a.get_weights(), before_b = b.get_weights();
  EXPECT_NE(before_a, before_b);  // Layers in no model start apart, too.
  for (const Batch& batch : dataset) step(batch);
  const auto after_a = a.get_weights(), after_b = b.get_weights();
  for (size_t i = 0; i < 3; ++i)
    EXPECT_NEAR(after_a[0][i] - before_a[0][i], after_b[0][i] - before_b[0][i], 1e-6);
}

TEST(Trace, GradientOfAVectorIsThatOfItsSum) {
  const Rows rows(4, 3);
  const Layer layer = Dense(2);
  const Dataset dataset = batches(rows, 4);
  Step step = trace(dataset.spec(), {}, [&](const Values& x, const Values&) {
    const Value y = layer(x[0]);
    return GradientTape().gradient(y, layer.trainable_weights());
  });
  for (const Batch& batch : dataset) step(batch);
  for (int feature = 0; feature < 3; ++feature) {
    float sum = 0;
    for (int row = 0; row < 4; ++row) sum += rows.x[row * 3 + feature];
    EXPECT_NEAR(step.result(0).as<float>()[feature * 2], sum, 1e-5);
  }
  EXPECT_EQ(step.result(1).as<float>()[0], 4);
}

// A table's gradient is one like any other; what goes to the optimizer as it is stays rows.
TEST(Trace, GradientsOfTables) {
  const std::vector<int32_t> ids = {2, 0, 2, 3};
  const std::vector<float> y = {1, 2, 3, 4};
  const Dataset dataset = Dataset::from_tensor_slices(Array(ids), Array(y)).batch(4);
  const auto table_after = [&](double clip, double* norm) {
    const Layer table = Embedding(5, 2);
    const OptimizerState optimizer(SGD({.learning_rate = 1}));
    Step step = trace(dataset.spec(), {}, [&](const Values& x, const Values&) {
      const Value loss = ops::sum(ops::square(table(x[0])));
      Values gradients = GradientTape().gradient(loss, table.trainable_weights());
      const Value squares = ops::sum(ops::square(gradients[0])), whole = gradients[0];
      if (clip > 0) gradients[0] = ops::clip(gradients[0], -clip, clip);
      optimizer.apply_gradients(gradients, table.trainable_weights());
      return Values{squares, whole};
    });
    for (const Batch& batch : dataset) *norm = step(batch);
    EXPECT_EQ(step.result(1).type.shape, (Shape{5, 2}));
    const std::vector<float> values = table.get_weights()[0];
    const std::span<const float> given = step.result(1).as<float>();
    EXPECT_EQ(given[2], 0);  // Row 1 is not in the batch.
    EXPECT_NE(given[4], 0);
    return values;
  };
  double norm = 0, clipped_norm = 0;
  const std::vector<float> plain = table_after(0, &norm);
  EXPECT_GT(norm, 0);
  EXPECT_EQ(table_after(100, &clipped_norm), plain);
  EXPECT_EQ(clipped_norm, norm);
}

TEST(Trace, RowsOfATableReachTheOptimizer) {
  const std::vector<int32_t> ids = {2, 0};
  const std::vector<float> y = {1, 2};
  const Dataset dataset = Dataset::from_tensor_slices(Array(ids), Array(y)).batch(2);
  const Layer table = Embedding(5, 2);
  const OptimizerState optimizer(SGD());
  Step step = trace(dataset.spec(), {}, [&](const Values& x, const Values&) {
    const Value loss = ops::sum(table(x[0]));
    optimizer.apply_gradients(GradientTape().gradient(loss, table.trainable_weights()),
                              table.trainable_weights());
    return loss;
  });
  for (const ProblemNode& node : step.program().problem().nodes)
    EXPECT_EQ(node.name.find("dense_rows"), std::string::npos) << node.name;
}

TEST(Trace, NodeByNode) {
  const Rows rows(8, 3);
  Sequential model = regression_model(3);
  const Dataset dataset = batches(rows, 8);
  Value hidden, out;
  Step step = trace(dataset.spec(), {.training = false, .keep_all = true},
                    [&](const Values& x, const Values&) {
                      hidden = ops::relu(model(x[0]));
                      out = ops::multiply_scalar(hidden, 2);
                      return out;
                    });
  int nodes = 0;
  for (const Batch& batch : dataset) step.each_node(batch, [&](const Node&) { ++nodes; });
  EXPECT_GE(nodes, 4);
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(step.tensor(out).as<float>()[i], 2 * step.tensor(hidden).as<float>()[i]);
}

// As the message of ops::mean says.
TEST(Trace, AMeanOverTheRowsOfEachBatch) {
  const Rows rows(11, 3);
  const Dataset dataset = batches(rows, 8);
  std::string told;
  Step step = trace(dataset.spec(), {}, [&](const Values& x, const Values&) {
    told = message_of([&] { ops::mean(x[0], {.axes = {0}}); });
    return ops::sum(x[0], {.axes = {0}}) / current_tracer().rows();
  });
  expect_within(told, "current_tracer().rows()");
  for (const Batch& batch : dataset) {
    step(batch);
    double sum = 0;
    for (int64_t row = 0; row < batch.rows; ++row) sum += batch.x[0].as<float>()[3 * row];
    EXPECT_NEAR(step.result(0).as<float>()[0], sum / static_cast<double>(batch.rows), 1e-6);
  }
}

TEST(Trace, Mistakes) {
  const Rows rows(8, 3);
  Sequential model = regression_model(3);
  const OptimizerState optimizer(SGD());
  const Dataset dataset = batches(rows, 8);
  const auto update = [&](const Values& x, int times) {
    const Value loss = model(x[0]);
    for (int i = 0; i < times; ++i)
      optimizer.apply_gradients(GradientTape().gradient(loss, model.trainable_variables()),
                                model.trainable_variables());
    return loss;
  };
  EXPECT_THROW(model(Values()), Error);  // Outside a trace.
  EXPECT_THROW(
      trace(dataset.spec(), {}, [&](const Values& x, const Values&) { return update(x, 2); }),
      Error);
  EXPECT_THROW(trace(dataset.spec(), {}, [](const Values& x, const Values&) { return x[0]; }),
               Error);
  EXPECT_THROW(trace(dataset.spec(), {}, [](const Values&, const Values&) { return Values(); }),
               Error);
  EXPECT_THROW(trace(dataset.spec(), {.memory = 64},
                     [&](const Values& x, const Values&) { return update(x, 1); }),
               BudgetError);

  Step step =
      trace(dataset.spec(), {}, [&](const Values& x, const Values&) { return update(x, 1); });
  const Layer stranger = Dense(1);
  EXPECT_THROW(trace(dataset.spec(), {},
                     [&](const Values& x, const Values&) {
                       const Value y = stranger(x[0]);
                       optimizer.apply_gradients(
                           GradientTape().gradient(y, stranger.trainable_weights()),
                           stranger.trainable_weights());
                       return y;
                     }),
               Error);
  EXPECT_THROW(step(Batch{.rows = 9}), Error);
  const Tensor wrong{{DType::float32, {8, 2}}, const_cast<float*>(rows.x.data())};
  const Tensor y{{DType::float32, {8}}, const_cast<float*>(rows.y.data())};
  EXPECT_THROW(step(Batch{.rows = 8, .x = {wrong}, .y = {y}}), Error);
}

// What commits waits for the guard here, too.
TEST(Trace, NodeByNodeBehindTheGuard) {
  Rows rows(8, 3);
  Sequential model = regression_model(3);
  const OptimizerState optimizer(SGD());
  const Dataset dataset = batches(rows, 8);
  const auto traced_step = [&] {
    return trace(dataset.spec(), {.keep_all = true}, [&](const Values& x, const Values& y) {
      const Value loss = MeanSquaredError()(ops::reshape(y[0], {kRows, 1}), model(x[0]));
      optimizer.apply_gradients(GradientTape().gradient(loss, model.trainable_variables()),
                                model.trainable_variables());
      return loss;
    });
  };
  Step step = traced_step();
  const auto before = model.get_weights();
  std::vector<float> bad(24, INFINITY);
  const Tensor x{{DType::float32, {8, 3}}, bad.data()};
  const Tensor y{{DType::float32, {8}}, rows.y.data()};
  int committed = 0;
  const auto count = [&](const Node& node) { committed += node.commits() ? 1 : 0; };
  EXPECT_THROW(step.each_node(Batch{.rows = 8, .x = {x}, .y = {y}}, count), NumericsError);
  EXPECT_EQ(committed, 0);
  EXPECT_EQ(model.get_weights(), before);
  for (const Batch& batch : dataset) step.each_node(batch, count);
  EXPECT_GT(committed, 0);
  EXPECT_NE(model.get_weights(), before);
}

}  // namespace
}  // namespace snug::testing
