#include "snug/train/callbacks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "snug/base/error.h"
#include "snug/train/fit_testing.h"

namespace snug::testing {
namespace {

// Puts values of its own into the logs, for the callbacks after it.
CallbackPtr scripted(std::vector<double> values, const std::string& name = "score") {
  return LambdaCallback(
      {.on_epoch_end = [=](int epoch, Logs& logs) { logs[name] = values.at(epoch); }});
}

struct Fitted {
  History history;
  std::vector<std::vector<std::vector<float>>> weights;  // After each epoch, and at the end.
};

// As many epochs as there are values, of a model whose weights move.
Fitted fit_with(const std::vector<double>& values, const CallbackPtr& callback,
                const Optimizer& optimizer = SGD({.learning_rate = 0.5})) {
  const Rows rows(8, 3);
  Sequential model = regression_model(3, optimizer);
  Fitted fitted;
  const CallbackPtr writer = LambdaCallback(
      {.on_epoch_end = [&](int, Logs&) { fitted.weights.push_back(model.get_weights()); }});
  fitted.history = model.fit(rows.regression(), {.epochs = static_cast<int>(values.size()),
                                                 .callbacks = {scripted(values), callback, writer},
                                                 .verbose = 0});
  fitted.weights.push_back(model.get_weights());
  return fitted;
}

size_t epochs_with(const std::vector<double>& values, const EarlyStoppingOptions& options) {
  return fit_with(values, EarlyStopping(options)).history.epoch.size();
}

TEST(EarlyStopping, StopsWhenPatienceIsOver) {
  const EarlyStoppingOptions options{.monitor = "score", .patience = 2, .mode = "min"};
  EXPECT_EQ(epochs_with({5, 4, 4.5, 3, 3, 3, 2}, options), 6);
  EXPECT_EQ(epochs_with({5, 4, 3, 2, 1}, options), 5);
}

TEST(EarlyStopping, NeverInTheFirstEpoch) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(epochs_with({nan, nan, nan}, {.monitor = "score", .mode = "min"}), 2);
}

TEST(EarlyStopping, SmallChangesAreNoImprovement) {
  EXPECT_EQ(epochs_with({5, 4.9, 4.8, 4.7},
                        {.monitor = "score", .min_delta = 0.5, .patience = 1, .mode = "min"}),
            2);
  EXPECT_EQ(epochs_with({5, 5.1, 5.2, 5.3},
                        {.monitor = "score", .min_delta = -0.5, .patience = 1, .mode = "max"}),
            2);
}

TEST(EarlyStopping, BaselineAndStart) {
  // Improves, but never on the baseline.
  EXPECT_EQ(epochs_with({9, 8, 7, 6, 6.5},
                        {.monitor = "score", .patience = 2, .mode = "min", .baseline = 1.0}),
            5);
  EXPECT_EQ(epochs_with({9, 8, 8.5, 6},
                        {.monitor = "score", .patience = 2, .mode = "min", .baseline = 1.0}),
            3);
  EXPECT_EQ(epochs_with({1, 2, 3, 4, 5},
                        {.monitor = "score", .patience = 1, .mode = "min", .start_from_epoch = 2}),
            4);
}

TEST(EarlyStopping, RestoresTheBestWeights) {
  const EarlyStoppingOptions options{
      .monitor = "score", .patience = 2, .mode = "min", .restore_best_weights = true};
  const Fitted stopped = fit_with({5, 4, 6, 7, 8}, EarlyStopping(options));
  ASSERT_EQ(stopped.history.epoch.size(), 4);
  EXPECT_EQ(stopped.weights.back(), stopped.weights[1]);
  EXPECT_NE(stopped.weights.back(), stopped.weights[3]);
  // Even when training ran to its end.
  const Fitted ended = fit_with({5, 4, 6}, EarlyStopping(options));
  EXPECT_EQ(ended.weights.back(), ended.weights[1]);
  // Without it the last weights stay.
  const Fitted kept = fit_with({5, 4, 6}, EarlyStopping({.monitor = "score", .mode = "min"}));
  EXPECT_EQ(kept.weights.back(), kept.weights[2]);
}

TEST(EarlyStopping, CanBeUsedAgain) {
  const CallbackPtr callback = EarlyStopping({.monitor = "score", .patience = 1, .mode = "min"});
  EXPECT_EQ(fit_with({1, 2, 3}, callback).history.epoch.size(), 2);
  EXPECT_EQ(fit_with({9, 8, 7}, callback).history.epoch.size(), 3);
}

TEST(EarlyStopping, SaysWhatItDoes) {
  LogText log;
  epochs_with({1, 2, 3},
              {.monitor = "score", .verbose = 1, .mode = "min", .restore_best_weights = true});
  EXPECT_EQ(log.messages,
            "Epoch 2: early stopping\n"
            "Restoring model weights from the end of the best epoch: 1.\n");
}

// The message of what fit throws with this callback on a model with the metrics mae and accuracy.
std::string refusal(const CallbackPtr& callback, const FitOptions& more = {},
                    const Optimizer& optimizer = SGD()) {
  const Rows rows(8, 3);
  Sequential model({Input({3}), Dense(1)});
  model.compile({.optimizer = optimizer, .loss = "mse", .metrics = {"mae", "accuracy"}});
  FitOptions options = more;
  options.callbacks = {callback};
  options.verbose = 0;
  try {
    model.fit(rows.regression(), options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Monitor, NamesThatCannotCome) {
  EXPECT_EQ(refusal(EarlyStopping({.monitor = "val_loss"})),
            "EarlyStopping: it monitors \"val_loss\", but this fit does not validate; there are "
            "accuracy, loss, mae; give validation_data or validation_split, or monitor one of "
            "these");
  EXPECT_EQ(refusal(EarlyStopping({.monitor = "val_f1"}), {.validation_split = 0.5}),
            "EarlyStopping: it monitors \"val_f1\", which the model does not measure; there are "
            "accuracy, loss, mae, val_accuracy, val_loss, val_mae");
  EXPECT_EQ(refusal(ReduceLROnPlateau({.monitor = "f1", .mode = "max"})),
            "ReduceLROnPlateau: it monitors \"f1\", which is not in the logs; there are accuracy, "
            "learning_rate, loss, mae");
  EXPECT_EQ(refusal(EarlyStopping({.monitor = "val_mae"}), {.validation_split = 0.5}), "");
}

// The loss and errors go down, accuracy goes up.
TEST(Monitor, KnowsTheDirection) {
  const auto epochs = [](const std::string& metric, const std::vector<double>& values) {
    const Rows rows(8, 3);
    Sequential model({Input({3}), Dense(1)});
    model.compile({.loss = "mse", .metrics = {"mae", "accuracy"}});
    return model
        .fit(rows.regression(),
             {.epochs = static_cast<int>(values.size()),
              .callbacks = {scripted(values, metric), EarlyStopping({.monitor = metric})},
              .verbose = 0})
        .epoch.size();
  };
  for (const std::string down : {"loss", "mae"}) {
    EXPECT_EQ(epochs(down, {3, 2, 1}), 3) << down;
    EXPECT_EQ(epochs(down, {1, 2, 3}), 2) << down;
  }
  EXPECT_EQ(epochs("accuracy", {1, 2, 3}), 3);
  EXPECT_EQ(epochs("accuracy", {3, 2, 1}), 2);
}

// Epochs without validation are passed over.
TEST(Monitor, WaitsForValidation) {
  const Rows rows(8, 3);
  Sequential model = regression_model(3);
  const History history =
      model.fit(rows.regression(), {.epochs = 6,
                                    .validation_data = rows.regression(),
                                    .validation_freq = 2,
                                    .callbacks = {EarlyStopping({.patience = 9})},
                                    .verbose = 0});
  EXPECT_EQ(history.epoch.size(), 6);
}

TEST(Monitor, Mode) {
  EXPECT_THROW(EarlyStopping({.mode = "least"}), Error);
  EXPECT_THROW(ReduceLROnPlateau({.mode = "least"}), Error);
}

std::vector<double> rates(const std::vector<double>& values,
                          const ReduceLROnPlateauOptions& options) {
  return fit_with(values, ReduceLROnPlateau(options), SGD({.learning_rate = 0.5}))
      .history.history.at("learning_rate");
}

TEST(ReduceLROnPlateau, ReducesAndLogsTheRateOfTheEpoch) {
  EXPECT_EQ(rates({5, 5, 5, 4, 4, 4, 4},
                  {.monitor = "score", .factor = 0.5, .patience = 2, .mode = "min"}),
            (std::vector<double>{0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.125}));
}

TEST(ReduceLROnPlateau, CooldownAndLeastRate) {
  EXPECT_EQ(rates({5, 5, 5, 5, 5, 5, 5},
                  {.monitor = "score", .factor = 0.5, .patience = 1, .mode = "min", .cooldown = 2}),
            (std::vector<double>{0.5, 0.5, 0.25, 0.25, 0.125, 0.125, 0.0625}));
  EXPECT_EQ(
      rates({5, 5, 5, 5, 5},
            {.monitor = "score", .factor = 0.125, .patience = 1, .mode = "min", .min_lr = 0.25}),
      (std::vector<double>{0.5, 0.5, 0.25, 0.25, 0.25}));
}

TEST(ReduceLROnPlateau, Refusals) {
  EXPECT_THROW(ReduceLROnPlateau({.factor = 1}), Error);
  const std::string message = refusal(ReduceLROnPlateau({.monitor = "loss"}), {},
                                      SGD({.learning_rate = ExponentialDecay(0.1, 10, 0.9)}));
  EXPECT_NE(message.find("schedule"), std::string::npos) << message;
}

TEST(LearningRateScheduler, SetsTheRateOfEachEpoch) {
  const Fitted by_epoch =
      fit_with({0, 0, 0}, LearningRateScheduler([](int epoch) { return 1.0 / (1 << epoch); }));
  EXPECT_EQ(by_epoch.history.history.at("learning_rate"), (std::vector<double>{1, 0.5, 0.25}));
  const Fitted by_rate =
      fit_with({0, 0, 0}, LearningRateScheduler([](int, double rate) { return rate / 2; }));
  EXPECT_EQ(by_rate.history.history.at("learning_rate"),
            (std::vector<double>{0.25, 0.125, 0.0625}));
  // The rate is used: no rate, no change.
  const Fitted still = fit_with({0, 0}, LearningRateScheduler([](int) { return 0.0; }));
  EXPECT_EQ(still.weights[0], still.weights[1]);
  EXPECT_THROW(fit_with({0}, LearningRateScheduler([](int) { return std::nan(""); })), Error);
}

TEST(LambdaCallback, CallsWhatItWasGiven) {
  const Rows rows(4, 3);
  Sequential model = regression_model(3);
  std::string text;
  const CallbackPtr callback = LambdaCallback(
      {.on_epoch_begin = [&](int epoch) { text += std::to_string(epoch) + "("; },
       .on_epoch_end = [&](int, Logs&) { text += ")"; },
       .on_train_begin = [&] { text += "<"; },
       .on_train_end = [&](const Logs& logs) { text += logs.contains("loss") ? ">" : "?"; },
       .on_train_batch_begin = [&](int64_t batch) { text += std::to_string(batch); },
       .on_train_batch_end = [&](int64_t,
                                 const Logs& logs) { text += logs.contains("loss") ? "." : "?"; }});
  model.fit(rows.regression(),
            {.batch_size = 2, .epochs = 2, .callbacks = {callback}, .verbose = 0});
  EXPECT_EQ(text, "<0(0.1.)1(0.1.)>");
}

TEST(TerminateOnNaN, StopsAtOnce) {
  const Rows rows(32, 3);
  const auto fit = [&](const CallbackPtr& callback) {
    Sequential model = regression_model(3, SGD({.learning_rate = 1e30}));
    int64_t batches = 0;
    const CallbackPtr counter =
        LambdaCallback({.on_train_batch_end = [&](int64_t, const Logs&) { ++batches; }});
    // The guard would stop it first.
    model.fit(rows.regression(), {.batch_size = 4,
                                  .epochs = 3,
                                  .callbacks = {callback, counter},
                                  .verbose = 0,
                                  .guard = {.policy = GuardOptions::Policy::off}});
    return batches;
  };
  LogText log;
  EXPECT_LT(fit(TerminateOnNaN()), 8);
  EXPECT_NE(log.messages.find("Invalid loss, terminating training"), std::string::npos);
  EXPECT_THROW(fit(TerminateOnNaN({.raise_error = true})), NumericsError);
}

// The guard's default would throw, and the history be lost.
TEST(TerminateOnNaN, GivesTheHistoryBackUnderTheGuard) {
  Rows rows(32, 3);
  rows.y[20] = 1e30F;
  const auto fit = [&](Sequential& model, const CallbackPtr& callback) {
    return model.fit(
        rows.regression(),
        {.batch_size = 4, .epochs = 3, .shuffle = false, .callbacks = {callback}, .verbose = 0});
  };
  LogText log;
  Sequential model = regression_model(3);
  const History history = fit(model, TerminateOnNaN());
  EXPECT_EQ(history.epoch, std::vector<int>{0});
  EXPECT_TRUE(std::isfinite(history.history.at("loss")[0]));
  EXPECT_EQ(model.compiled().iterations(), 5);  // The sixth batch is bad.
  EXPECT_NE(log.messages.find("The run ends here, as TerminateOnNaN has it"), std::string::npos);
  Sequential other = regression_model(3);
  EXPECT_THROW(fit(other, TerminateOnNaN({.raise_error = true})), NumericsError);
}

TEST(TerminateOnNaN, BeforeTheFirstStepThereIsNoEpoch) {
  Rows rows(8, 3);
  rows.y[0] = 1e30F;
  Sequential model = regression_model(3);
  const LogText log;
  const History history =
      model.fit(rows.regression(), {.epochs = 3, .callbacks = {TerminateOnNaN()}, .verbose = 0});
  EXPECT_TRUE(history.epoch.empty());
  EXPECT_EQ(model.compiled().iterations(), 0);
}

// As a user writes it: nothing but the hook.
class LossOfBatches final : public Callback {
 public:
  void on_train_batch_end(int64_t, const Logs& logs) override { losses.push_back(logs.at("loss")); }
  std::vector<double> losses;
};

TEST(Callbacks, HaveTheLogsOfEveryBatch) {
  const Rows rows(32, 3);
  for (const int verbose : {0, 1}) {
    Sequential model = regression_model(3);
    const auto losses = std::make_shared<LossOfBatches>();
    const LogText log;
    const History history =
        model.fit(rows.regression(), {.batch_size = 4, .callbacks = {losses}, .verbose = verbose});
    ASSERT_EQ(losses->losses.size(), 8u);
    EXPECT_EQ(losses->losses.back(), history.history.at("loss")[0]);
  }
}

// Looking at every metric after each batch is for those who read it.
TEST(Callbacks, OfSnugsOwnAskForNoLogs) {
  for (const CallbackPtr& callback :
       {EarlyStopping(), ReduceLROnPlateau(), CSVLogger("a.csv"), BackupAndRestore("a"),
        ModelCheckpoint("a.keras"), TensorBoard("a"), LambdaCallback({}),
        LearningRateScheduler([](int) { return 0.1; })})
    EXPECT_FALSE(callback->wants_batch_logs());
}

}  // namespace
}  // namespace snug::testing
