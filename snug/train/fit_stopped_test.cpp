// Runs that were stopped, by whom ever, and go on or may not.
#include <gtest/gtest.h>

#include <atomic>

#include "snug/base/error.h"
#include "snug/data/source_testing.h"
#include "snug/testing/forwarding_files.h"
#include "snug/testing/resumable_run.h"
#include "snug/train/fit.h"
#include "snug/train/poison_testing.h"
#include "snug/train/state_bytes.h"

namespace snug::testing {
namespace {

// The values of weights and moments, and the rate.
std::vector<std::vector<float>> state_of(Model& model) {
  std::vector<std::vector<float>> state = model.get_weights();
  for (const VariablePtr& slot : model.compiled().slots()) {
    if (slot->tensor().dtype() != DType::float32) continue;
    const std::span<float> values = slot->tensor().as<float>();
    state.emplace_back(values.begin(), values.end());
  }
  state.push_back({model.compiled().optimizer()->learning_rate_at(0)});
  return state;
}

TEST(Stopped, ARefusedResumeLeavesTheModelAlone) {
  const Rows rows(kRowCount, 3);
  MemoryFiles files;
  RunSetup first(files, rows);
  first.options.epochs = 2;
  // A rate that only a checkpoint knows.
  first.options.callbacks.push_back(LearningRateScheduler([](int) { return 0.125; }));
  first.run();
  const auto expect_untouched = [&](const std::function<void(RunSetup&)>& change) {
    MemoryFiles other_files;
    RunSetup second(other_files, rows);
    second.options.epochs = 1;
    second.run();
    const auto before = state_of(second.model);
    second.options = RunSetup(files, rows).options;
    second.options.callbacks.push_back(LearningRateScheduler([](int) { return 0.125; }));
    second.options.resume = true;
    change(second);
    EXPECT_THROW(second.run(), Error);
    EXPECT_EQ(state_of(second.model), before);
  };
  expect_untouched([](RunSetup& setup) { setup.options.seed = 6; });
  expect_untouched([](RunSetup& setup) { setup.options.checkpoint.best = "val_loss"; });
  expect_untouched(
      [](RunSetup& setup) { setup.options.callbacks.push_back(EarlyStopping({.patience = 9})); });
  // The names within a section are of another callback.
  expect_untouched(
      [](RunSetup& setup) { setup.options.callbacks.back() = EarlyStopping({.patience = 9}); });
}

// A callback has ended the run in the middle of an epoch, and it was killed before the epoch's end:
// that still comes.
TEST(Stopped, ByACallbackTheEpochStillEnds) {
  const Rows rows(kRowCount, 3);
  const auto run = [&](FileSystem& files, bool is_interrupted) {
    RunSetup setup(files, rows);
    setup.options.callbacks.push_back(
        LambdaCallback({.on_train_batch_end = [&](int64_t batch, const Logs&) {
          if (batch == 2 && setup.model.compiled().iterations() > 5)
            setup.model.stop_training = true;
        }}));
    setup.options.resume = true;
    setup.options.interrupted = [&] { return is_interrupted && setup.model.stop_training; };
    return result_of(setup, setup.run());
  };
  MemoryFiles whole_files, files;
  const Result whole = run(whole_files, false);
  ASSERT_EQ(whole.epochs, (std::vector<int>{0, 1}));
  run(files, true);
  Result rest = run(files, false);
  EXPECT_EQ(rest.rows, std::vector<int64_t>());
  rest.rows = whole.rows;
  EXPECT_EQ(rest, whole);
}

// What a callback throws after a step does not undo the step.
TEST(Stopped, ByWhatACallbackThrowsNoBatchComesTwice) {
  const Rows rows(kRowCount, 3);
  for (const bool steps_per_epoch : {false, true}) {
    const auto run = [&](FileSystem& files, bool throws) {
      RunSetup setup(files, rows);
      if (steps_per_epoch) setup.options.steps_per_epoch = 3;
      setup.options.callbacks.push_back(
          LambdaCallback({.on_train_batch_end = [&](int64_t, const Logs&) {
            if (throws && setup.model.compiled().iterations() == 7) throw DataError("enough");
          }}));
      setup.options.resume = true;
      if (throws) {
        expect_within(message_of<DataError>([&] { setup.run(); }), "enough");
        return Result();
      }
      return result_of(setup, setup.run());
    };
    MemoryFiles whole_files, files;
    const Result whole = run(whole_files, false);
    run(files, true);
    const Result rest = run(files, false);
    EXPECT_EQ(rest.weights, whole.weights) << steps_per_epoch;
    EXPECT_EQ(rest.history, whole.history) << steps_per_epoch;
  }
}

// The guard has stopped it, and what was wrong is mended: it ends with the same checkpoint as if
// nothing had been, all that the guard itself carries included.
TEST(Stopped, ByTheGuardARunGoesOnToTheSameCheckpoint) {
  const Rows rows(kRowCount, 3);
  const auto run = [&](FileSystem& files, bool armed) {
    const auto poison =
        std::make_shared<Poison>(Poison{.armed = armed,
                                        .epoch = 2,
                                        .position = 19,
                                        .value = std::numeric_limits<float>::quiet_NaN()});
    RunSetup setup(files, rows);
    setup.model = Sequential({Input({3}), Dense(6, "relu"), PoisonLayer(poison, "poison"),
                              BatchNormalization(), Dropout(0.3), Dense(1)});
    setup.model.compile({.optimizer = Adam(), .loss = "mse", .metrics = {"mae"}});
    setup.options.resume = true;
    if (!armed) return result_of(setup, setup.run());
    expect_within(message_of<NumericsError>([&] { setup.run(); }), "step 3 of epoch 3 ");
    return Result();
  };
  MemoryFiles whole_files, files;
  const Result whole = run(whole_files, false);
  run(files, true);
  const Result rest = run(files, false);
  EXPECT_EQ(rest.weights, whole.weights);
  EXPECT_EQ(rest.history, whole.history);
  ASSERT_FALSE(whole.checkpoint.empty());
  EXPECT_TRUE(rest.checkpoint == whole.checkpoint);
}

// A run of 5 steps an epoch whose rate is lowered at the 7th, and which breaks at the 9th: what is
// there of it is the checkpoint of the 5th.
struct BrokenRun : RunSetup {
  bool breaks = true;

  BrokenRun(FileSystem& to, const Rows& rows) : RunSetup(to, rows) {
    options.epochs = 3;
    options.callbacks = {LambdaCallback({.on_train_batch_begin = [this](int64_t) {
      const Compiled& compiled = model.compiled();
      if (compiled.iterations() == 6) compiled.optimizer()->set_learning_rate(0.0001);
      if (compiled.iterations() == 8 && breaks) throw Error("broken");
    }})};
    options.resume = true;
    options.checkpoint.every_steps = 5;
    options.checkpoint.beside = false;
  }
};

TEST(Stopped, ARunGoesOnInTheSameProcessWithTheRateOfItsCheckpoint) {
  const Rows rows(kRowCount, 3);
  MemoryFiles whole_files, files;
  BrokenRun whole(whole_files, rows), run(files, rows);
  whole.breaks = false;
  whole.run();
  EXPECT_THROW(run.run(), Error);
  run.breaks = false;
  run.run();
  EXPECT_EQ(run.model.get_weights(), whole.model.get_weights());
}

TEST(Stopped, ARateThatIsSetBeforeTheRunGoesOnCounts) {
  const Rows rows(kRowCount, 3);
  MemoryFiles files;
  BrokenRun run(files, rows);
  EXPECT_THROW(run.run(), Error);
  run.breaks = false;
  run.model.compiled().optimizer()->set_learning_rate(0.5);
  run.options.epochs = 1;
  const LogText log;
  run.run();
  expect_within(log.messages, "The learning rate is 0.5 from now on; it was 0.01");
}

// The guard's numbers of each weight that is trained are not those of another set of weights.
TEST(Resume, WithOtherLayersFrozenGoesOn) {
  const Rows rows(kRowCount, 3);
  const auto run = [&](FileSystem& files, bool freezes, int epochs) {
    const auto optimizer = SGD({.learning_rate = 0.01});
    RunSetup setup(files, rows, optimizer);
    setup.model.layers()[freezes ? 0 : 3]->trainable = false;
    setup.model.compile({.optimizer = optimizer, .loss = "mse", .metrics = {"mae"}});
    setup.options.resume = true;
    setup.options.epochs = epochs;
    return setup.run();
  };
  for (const bool first : {false, true}) {
    MemoryFiles files;
    run(files, first, 2);
    EXPECT_EQ(run(files, !first, 4).epoch, (std::vector<int>{0, 1, 2, 3}));
  }
}

// It has nothing to say before its first epoch has ended.
class LateCounter final : public Callback {
 public:
  void on_epoch_end(int, Logs&) override { ++epochs; }
  void state(StateVisitor& visitor) override {
    if (visitor.reads() || epochs > 0) visitor.visit("epochs", epochs);
  }
  int64_t epochs = 0;
};

TEST(Resume, ACallbackMayBeginToSpeakLater) {
  const Rows rows(kRowCount, 3);
  MemoryFiles files;
  for (const int epochs : {2, 5}) {
    RunSetup setup(files, rows);
    const auto counter = std::make_shared<LateCounter>();
    setup.options.callbacks = {counter};
    setup.options.resume = true;
    setup.options.epochs = epochs;
    setup.run();
    EXPECT_EQ(counter->epochs, epochs);
  }
}

// A disk that refuses the second best.ckpt.
class RefusesTheBest final : public ForwardingFiles {
 public:
  using ForwardingFiles::ForwardingFiles;

  void rename(const Path& from, const Path& to) override {
    if (to.filename() == "best.ckpt" && ++bests_ == 2)
      throw FileError("no room for {}", to.string());
    ForwardingFiles::rename(from, to);
  }

 private:
  std::atomic<int> bests_ = 0;
};

// The steps before the best epoch's end.
int64_t steps_of_best(FileSystem& files) {
  const CheckpointFile file(files, "saved/best.ckpt");
  int64_t steps = 0;
  StateReader(file.section("progress"), "best").visit("steps", steps);
  return steps;
}

struct JudgedRun : RunSetup {
  JudgedRun(RefusesTheBest& disk, const Rows& rows) : RunSetup(disk, rows) {
    const auto judge = LambdaCallback({.on_epoch_end = [](int epoch, Logs& logs) {
      logs["judged"] = std::vector<double>{5, 3, 4, 6}.at(static_cast<size_t>(epoch));
    }});
    options.epochs = 4;
    options.callbacks = {judge};
    options.resume = true;
    options.checkpoint.best = "judged";
    options.checkpoint.best_mode = "min";
  }
};

TEST(Stopped, ABestThatCouldNotBeSavedIsNotTheBest) {
  const Rows rows(kRowCount, 3);
  for (const bool beside : {false, true}) {
    MemoryFiles inner;
    RefusesTheBest disk(inner);
    JudgedRun run(disk, rows);
    run.options.checkpoint.beside = beside;
    const LogText log;
    run.run();
    EXPECT_EQ(steps_of_best(disk), 15) << beside;
    expect_within(log.messages, "no room for");
  }
}

TEST(Stopped, ABestThatCouldNotBeSavedIsForgottenInCheckpoints) {
  const Rows rows(kRowCount, 3);
  for (const bool each_epoch : {false, true}) {
    MemoryFiles inner;
    RefusesTheBest disk(inner);
    const LogText log;
    JudgedRun first(disk, rows);
    int64_t steps = 0;
    first.options.interrupted = [&] { return ++steps == 12; };
    if (each_epoch) first.options.checkpoint.every_epochs = 1;
    first.run();
    EXPECT_EQ(steps_of_best(disk), 5);
    JudgedRun(disk, rows).run();
    EXPECT_EQ(steps_of_best(disk), 15) << each_epoch;
  }
}

}  // namespace
}  // namespace snug::testing
