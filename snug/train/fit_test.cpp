// The arguments of fit, as Keras defines them (keras.md 1.8).
#include "snug/train/fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "snug/base/error.h"
#include "snug/data/dataset.h"
#include "snug/data/generator.h"
#include "snug/data/source_testing.h"
#include "snug/train/callbacks.h"
#include "snug/train/fit_testing.h"

namespace snug::testing {
namespace {

FitOptions quiet(int epochs = 1) {
  FitOptions options{.epochs = epochs, .shuffle = false, .verbose = 0};
  return options;
}

std::shared_ptr<RecordingSource> recorded(const SourcePtr& source) {
  return std::make_shared<RecordingSource>(source);
}

// Of rows [first, first + count), by the model's own predictions.
double mean_squared_error(Model& model, const Rows& rows, int64_t first, int64_t count,
                          const std::vector<float>& weights = {}) {
  const std::vector<float> out = model.predict(data::arrays(rows.inputs(first, count)))[0];
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double error = out[i] - rows.y[first + i];
    sum += error * error * (weights.empty() ? 1 : weights[first + i]);
  }
  return sum / static_cast<double>(count);
}

TEST(Fit, Learns) {
  const Rows rows(200, 3);
  Sequential model = regression_model(3, Adam({.learning_rate = 0.05}));
  const History history = model.fit(rows.regression(), {.epochs = 30, .verbose = 0});
  ASSERT_EQ(history.history.at("loss").size(), 30);
  EXPECT_LT(history.history.at("loss").back(), 0.05 * history.history.at("loss").front());
}

TEST(Fit, AveragesThatNoStepHasMadeReplaceNoWeights) {
  const Rows rows(64, 3);
  Sequential model = regression_model(3, Adam({.use_ema = true}));
  model.fit(rows.regression(), {.epochs = 0, .verbose = 0});
  EXPECT_NE(model.get_weights()[0], std::vector<float>(model.get_weights()[0].size(), 0.0F));
}

TEST(Fit, ARunCanBeRunAgain) {
  const Rows rows(64, 3);
  Sequential model = regression_model(3, Adam({.learning_rate = 0.05}));
  FitRun run(model, rows.regression(), {.epochs = 2, .verbose = 0});
  const std::vector<double> first = run.run().history.at("loss");
  const std::vector<double> second = run.run().history.at("loss");
  ASSERT_EQ(first.size(), 2u);
  ASSERT_EQ(second.size(), 2u);
  EXPECT_LT(second[1], first[0]);
}

TEST(Fit, BatchesOf32WithAPartialLastOne) {
  const Rows rows(70, 3);
  const auto source = recorded(rows.regression());
  Sequential model = regression_model(3);
  model.fit(source, quiet());
  ASSERT_EQ(source->batches.size(), 3);
  EXPECT_EQ(source->batches[0].size(), 32);
  EXPECT_EQ(source->batches[2].size(), 6);
  EXPECT_EQ(source->take(), numbers(0, 70));
}

// The epoch's loss is the mean over rows, not over batches.
TEST(Fit, PartialBatchCountsByItsRows) {
  const Rows rows(10, 3);
  Sequential model = regression_model(3, SGD({.learning_rate = 0}));
  FitOptions options = quiet();
  options.batch_size = 4;
  const History history = model.fit(rows.regression(), options);
  EXPECT_NEAR(history.history.at("loss")[0], mean_squared_error(model, rows, 0, 10), 1e-5);
}

TEST(Fit, EpochsIsTheLastOnesNumber) {
  const Rows rows(8, 3);
  Sequential model = regression_model(3);
  FitOptions options = quiet(5);
  options.initial_epoch = 2;
  const History history = model.fit(rows.regression(), options);
  EXPECT_EQ(history.epoch, (std::vector<int>{2, 3, 4}));
  EXPECT_EQ(history.history.at("loss").size(), 3);
}

TEST(Fit, ValidationSplitTakesTheTail) {
  const Rows rows(10, 3);
  const auto source = recorded(rows.regression());
  Sequential model = regression_model(3, SGD({.learning_rate = 0}));
  FitOptions options = quiet();
  options.shuffle = true;
  options.validation_split = 0.25;  // floor(10 * 0.75) = 7 rows to train on.
  const History history = model.fit(source, options);
  std::vector<int64_t> read = source->take();
  std::sort(read.begin(), read.begin() + 7);
  EXPECT_EQ(read, numbers(0, 10));
  EXPECT_NEAR(history.history.at("loss")[0], mean_squared_error(model, rows, 0, 7), 1e-5);
  EXPECT_NEAR(history.history.at("val_loss")[0], mean_squared_error(model, rows, 7, 3), 1e-5);
}

// The last rows are others in each epoch: most would be trained on before they are validated with.
TEST(Fit, ValidationSplitNeedsRowsThatStayWhereTheyAre) {
  const Rows rows(10, 3);
  Sequential model = regression_model(3);
  FitOptions options = quiet();
  options.validation_split = 0.2;
  const Dataset data(rows.regression());
  expect_within(message_of([&] { model.fit(data.shuffle(7).batch(2), options); }),
                "fit: validation_split is 0.2, but the data has its rows in another order in each "
                "epoch");
  EXPECT_NO_THROW(model.fit(data.shuffle(7, /*reshuffle_each_iteration=*/false).batch(2), options));
  options.validation_data = rows.regression();
  EXPECT_NO_THROW(model.fit(data.shuffle(7).batch(2), options));
}

TEST(Fit, ValidationDataWinsOverSplit) {
  const Rows rows(12, 3);
  const auto training = recorded(rows.regression(0, 8));
  const auto validation = recorded(rows.regression(8, 4));
  Sequential model = regression_model(3, SGD({.learning_rate = 0}));
  FitOptions options = quiet(2);
  options.shuffle = true;
  options.batch_size = 3;
  options.validation_split = 0.5;
  options.validation_data = validation;
  const History history = model.fit(training, options);
  EXPECT_EQ(training->take().size(), 16);
  ASSERT_EQ(validation->batches.size(), 4);  // In order, in batches of batch_size.
  EXPECT_EQ(validation->batches[0], numbers(0, 3));
  EXPECT_EQ(validation->batches[1], numbers(3, 4));
  EXPECT_NEAR(history.history.at("val_loss")[1], mean_squared_error(model, rows, 8, 4), 1e-5);
}

TEST(Fit, ValidationBatchSizeAndSteps) {
  const Rows rows(10, 3);
  const auto validation = recorded(rows.regression());
  Sequential model = regression_model(3);
  FitOptions options = quiet(2);
  options.validation_data = validation;
  options.validation_batch_size = 4;
  options.validation_steps = 2;
  model.fit(rows.regression(), options);
  ASSERT_EQ(validation->batches.size(), 4);
  EXPECT_EQ(validation->batches[1], numbers(4, 8));
  EXPECT_EQ(validation->batches[2], numbers(0, 4));  // From the start again.
}

TEST(Fit, ValidationFreq) {
  const Rows rows(8, 3);
  const auto values = [&](const ValidationFreq& freq) {
    Sequential model = regression_model(3);
    FitOptions options = quiet(6);
    options.validation_data = rows.regression();
    options.validation_freq = freq;
    std::vector<int> epochs;
    options.callbacks = {LambdaCallback({.on_epoch_end = [&](int epoch, Logs& logs) {
      if (logs.contains("val_loss")) epochs.push_back(epoch + 1);
    }})};
    const History history = model.fit(rows.regression(), options);
    EXPECT_EQ(history.history.at("val_loss").size(), epochs.size());
    return epochs;
  };
  EXPECT_EQ(values(2), (std::vector<int>{2, 4, 6}));
  EXPECT_EQ(values({2}), (std::vector<int>{2}));
  EXPECT_EQ(values({1, 5, 9}), (std::vector<int>{1, 5}));
}

TEST(Fit, StepsPerEpochGoesOnAcrossEpochs) {
  const Rows rows(12, 3);
  const auto source = recorded(rows.regression());
  Sequential model = regression_model(3);
  FitOptions options = quiet(4);
  options.batch_size = 2;
  options.steps_per_epoch = 3;
  model.fit(source, options);
  std::vector<int64_t> expected = numbers(0, 12);
  expected.insert(expected.end(), expected.begin(), expected.begin() + 12);
  EXPECT_EQ(source->take(), expected);  // A pass of two epochs, twice.
}

TEST(Fit, StepsPerEpochGivesTheBatchSize) {
  const Rows rows(10, 3);
  const auto source = recorded(rows.regression());
  Sequential model = regression_model(3);
  FitOptions options = quiet();
  options.steps_per_epoch = 3;
  model.fit(source, options);
  ASSERT_EQ(source->batches.size(), 3);
  EXPECT_EQ(source->batches[0].size(), 4);
  EXPECT_EQ(source->batches[2].size(), 2);
}

// With arrays, each epoch starts over; and it is said.
TEST(Fit, StepsPerEpochBeyondTheData) {
  const Rows rows(6, 3);
  const auto source = recorded(rows.regression());
  Sequential model = regression_model(3);
  FitOptions options = quiet(2);
  options.batch_size = 2;
  options.steps_per_epoch = 5;
  LogText log;
  const History history = model.fit(source, options);
  EXPECT_EQ(source->take().size(), 12);
  EXPECT_EQ(history.epoch.size(), 2);
  EXPECT_NE(log.messages.find("ran out after 3 of 5 steps"), std::string::npos) << log.messages;
}

// An epoch without a step would have a loss of 0, the best of all.
TEST(Fit, EndsWhereAGeneratorHasNoMoreRows) {
  int64_t given = 0;
  std::vector<int> begun, ended;
  double last_loss = 0;
  const auto fit = [&](int64_t rows) {
    const SourcePtr source = data::generator(
        [&given, rows](std::span<const Tensor> slots) -> int64_t {
          if (given == rows) return 0;
          ++given;
          std::ranges::fill(slots[0].as<float>(), 0.5F);
          slots[1].as<float>()[0] = 2;
          return 1;
        },
        {.x = Shape{3}, .y = Shape{}});
    Sequential model = regression_model(3);
    FitOptions options = quiet(5);
    options.batch_size = 2;
    options.steps_per_epoch = 3;
    options.callbacks = {LambdaCallback({.on_epoch_begin = [&](int e) { begun.push_back(e); },
                                         .on_epoch_end =
                                             [&](int e, Logs& logs) {
                                               ended.push_back(e);
                                               last_loss = logs.at("loss");
                                             }}),
                         EarlyStopping({.monitor = "loss", .restore_best_weights = true})};
    return model.fit(source, options);
  };
  LogText log;
  const History history = fit(12);
  EXPECT_EQ(history.epoch.size(), 2);
  for (const double loss : history.history.at("loss")) EXPECT_GT(loss, 0);
  expect_within(log.messages, "ran out after 0 of 3 steps of epoch 3");
  // Callbacks that save or count epochs do not take the last one, which had no step, for one.
  EXPECT_EQ(begun, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(ended, (std::vector<int>{0, 1}));
  EXPECT_GT(last_loss, 0);
  given = 0;
  expect_within(message_of<DataError>([&] { fit(0); }), "no rows");
}

TEST(Fit, ShufflesEachEpochAnewAndTheSameForTheSameSeed) {
  const Rows rows(64, 3);
  const auto orders = [&](uint64_t seed) {
    const auto source = recorded(rows.regression());
    Sequential model = regression_model(3);
    model.fit(source, {.epochs = 2, .verbose = 0, .seed = seed});
    return source->take();
  };
  const std::vector<int64_t> order = orders(1);
  std::vector<int64_t> first(order.begin(), order.begin() + 64),
      second(order.begin() + 64, order.end());
  EXPECT_NE(first, second);
  EXPECT_EQ(order, orders(1));
  EXPECT_NE(order, orders(2));
  std::ranges::sort(first);
  std::ranges::sort(second);
  EXPECT_EQ(first, numbers(0, 64));
  EXPECT_EQ(second, numbers(0, 64));
}

TEST(Fit, ClassWeightsAreNumbers) {
  const Rows rows(20, 3);
  Sequential model = regression_model(3);
  FitOptions options = quiet();
  options.class_weight = {{0, 1.0}, {1, NAN}};
  EXPECT_EQ(message_of([&] { model.fit(rows.classes(), options); }),
            "fit: class_weight of class 1 is nan; it must be a number");
  options.class_weight = {{0, 1.0}, {1, -2.0}};
  EXPECT_EQ(message_of([&] { model.fit(rows.classes(), options); }),
            "fit: class_weight of class 1 is -2, which would raise its loss; it must be 0 or more");
}

TEST(Fit, ClassWeightsAreSampleWeights) {
  const Rows rows(20, 3);
  std::vector<float> weights;
  for (const int32_t label : rows.label) weights.push_back(label == 1 ? 3.0F : 1.0F);
  const auto fitted = [&](const SourcePtr& source, const std::map<int64_t, double>& by_class) {
    Sequential model = small_model(3, 2);
    model.compile({.optimizer = SGD({.learning_rate = 0.1}),
                   .loss = SparseCategoricalCrossentropy({.from_logits = true})});
    FitOptions options = quiet(3);
    options.batch_size = 8;
    options.class_weight = by_class;
    const History history = model.fit(source, options);
    return std::pair(history.history, model.get_weights());
  };
  const auto by_class = fitted(rows.classes(), {{1, 3.0}, {7, 9.0}});  // Class 0 counts 1.
  const auto by_row =
      fitted(data::arrays(
                 {.x = {rows.inputs()}, .y = {Array(rows.label)}, .sample_weight = Array(weights)}),
             {});
  EXPECT_EQ(by_class, by_row);
  EXPECT_NE(by_class, fitted(rows.classes(), {}));
}

// The classes of which of them?
TEST(Fit, ClassWeightsAreRefusedWithSeveralOutputs) {
  const Rows rows(20, 3);
  const Symbol x = Input({3});
  Model model(Symbols{x}, {Dense(2)(x), Dense(2)(x)});
  model.compile({.loss = SparseCategoricalCrossentropy({.from_logits = true})});
  const SourcePtr source =
      data::arrays({.x = {rows.inputs()}, .y = {Array(rows.label), Array(rows.label)}});
  FitOptions options = quiet();
  EXPECT_EQ(model.fit(source, options).epoch.size(), 1);
  options.class_weight = {{1, 3.0}};
  expect_within(message_of([&] { model.fit(source, options); }),
                "class_weight is for a model with one output, but there are targets for 2");
}

TEST(Fit, SampleWeightsWeighTheLossAndWeightedMetricsOnly) {
  const Rows rows(10, 3);
  std::vector<float> weights;
  for (int i = 0; i < 10; ++i) weights.push_back(static_cast<float>(i % 3));
  Sequential model = small_model(3);
  model.compile({.optimizer = SGD({.learning_rate = 0}),
                 .loss = "mse",
                 .metrics = {"mse"},
                 .weighted_metrics = {"mse"}});
  FitOptions options = quiet();
  options.batch_size = 4;
  const History history = model.fit(
      data::arrays({.x = {rows.inputs()}, .y = {Array(rows.y)}, .sample_weight = Array(weights)}),
      options);
  const double weighted = mean_squared_error(model, rows, 0, 10, weights);
  EXPECT_NEAR(history.history.at("loss")[0], weighted, 1e-5);
  EXPECT_NEAR(history.history.at("mse")[0], mean_squared_error(model, rows, 0, 10), 1e-5);
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  EXPECT_NEAR(history.history.at("weighted_mse")[0], weighted * 10 / total, 1e-5);
}

TEST(Fit, StopTrainingEndsTheEpochAtOnce) {
  const Rows rows(16, 3);
  const auto source = recorded(rows.regression());
  Sequential model = regression_model(3);
  FitOptions options = quiet(5);
  options.batch_size = 2;
  options.callbacks = {LambdaCallback({.on_train_batch_end = [&](int64_t batch, const Logs&) {
    if (batch == 2) model.stop_training = true;
  }})};
  const History history = model.fit(source, options);
  EXPECT_EQ(history.epoch.size(), 1);
  EXPECT_EQ(source->batches.size(), 3);
}

// As in Keras: the batch that is under way, the first, comes to its end.
TEST(Fit, StopTrainingBeforeTheFirstBatchEndsAfterIt) {
  const Rows rows(16, 3);
  const auto source = recorded(rows.regression());
  Sequential model = regression_model(3);
  FitOptions options = quiet(5);
  options.batch_size = 2;
  options.callbacks = {LambdaCallback({.on_epoch_begin = [&](int epoch) {
    if (epoch == 1) model.stop_training = true;
  }})};
  const History history = model.fit(source, options);
  EXPECT_EQ(history.epoch, (std::vector<int>{0, 1}));
  EXPECT_EQ(source->batches.size(), 9);
  EXPECT_GT(history.history.at("loss")[1], 0);
}

TEST(Fit, CallsHooksInKerasOrder) {
  class Writer final : public Callback {
   public:
    std::string text;
    void on_train_begin() override { text += "train("; }
    void on_train_end(const Logs&) override { text += ")"; }
    void on_epoch_begin(int epoch) override { text += "epoch" + std::to_string(epoch) + "("; }
    void on_epoch_end(int, Logs& logs) override { text += logs.contains("val_loss") ? "v)" : ")"; }
    void on_train_batch_begin(int64_t) override { text += "b"; }
    void on_train_batch_end(int64_t, const Logs&) override { text += "e "; }
    void on_test_begin() override { text += "test("; }
    void on_test_end(const Logs& logs) override { text += logs.contains("loss") ? ")" : "?"; }
    void on_test_batch_begin(int64_t) override { text += "b"; }
    void on_test_batch_end(int64_t, const Logs&) override { text += "e "; }
  };
  const Rows rows(4, 3);
  Sequential model = regression_model(3);
  const auto writer = std::make_shared<Writer>();
  FitOptions options = quiet(2);
  options.batch_size = 2;
  options.validation_data = rows.regression();
  options.validation_freq = 2;
  options.callbacks = {writer};
  model.fit(rows.regression(), options);
  EXPECT_EQ(writer->text, "train(epoch0(be be )epoch1(be be test(be be )v))");
}

TEST(Fit, SameBitsTwice) {
  const Rows rows(100, 5);
  const auto fitted = [&] {
    Sequential model = regression_model(5, Adam());
    model.fit(rows.regression(), {.epochs = 3, .verbose = 0, .seed = 7});
    return model.get_weights();
  };
  EXPECT_EQ(fitted(), fitted());
}

// Slots and count go on from fit to fit, and compile begins anew.
TEST(Fit, TwoFitsAreOneLongerOne) {
  const Rows rows(40, 3);
  const auto fit = [&](Sequential& model, int from, int to) {
    FitOptions options = quiet(to);
    options.initial_epoch = from;
    model.fit(rows.regression(), options);
  };
  Sequential once = regression_model(3, Adam()), twice = regression_model(3, Adam());
  fit(once, 0, 4);
  fit(twice, 0, 2);
  fit(twice, 2, 4);
  EXPECT_EQ(once.get_weights(), twice.get_weights());
  EXPECT_EQ(twice.compiled().iterations(), 8);
  twice.compile({.optimizer = Adam(), .loss = "mse"});
  EXPECT_EQ(twice.compiled().iterations(), 0);
}

TEST(Fit, TrainOnBatchIsOneStep) {
  const Rows rows(16, 3);
  Sequential one = regression_model(3, Adam()), other = regression_model(3, Adam());
  FitOptions options = quiet();
  options.batch_size = 16;
  const History history = one.fit(rows.regression(), options);
  const Logs logs = other.train_on_batch(rows.regression());
  EXPECT_EQ(logs.at("loss"), history.history.at("loss")[0]);
  EXPECT_EQ(one.get_weights(), other.get_weights());
}

TEST(Fit, EvaluateAndPredict) {
  const Rows rows(50, 3);
  Sequential model = regression_model(3);
  const Logs logs = model.evaluate(rows.regression(), {.batch_size = 7});
  EXPECT_NEAR(logs.at("loss"), mean_squared_error(model, rows, 0, 50), 1e-5);
  const auto whole = model.predict(data::arrays(rows.inputs()), {.batch_size = 50});
  EXPECT_EQ(whole[0].size(), 50);
  EXPECT_EQ(model.predict(data::arrays(rows.inputs()), {.batch_size = 7, .steps = 2})[0].size(),
            14);
}

}  // namespace
}  // namespace snug::testing
