// Runs that were stopped, by whom ever, and go on or may not.
#include <gtest/gtest.h>

#include <atomic>

#include "snug/base/error.h"
#include "snug/data/source_testing.h"
#include "snug/testing/resumable_run.h"
#include "snug/train/fit.h"
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
  expect_untouched([](RunSetup& setup) {
    setup.options.callbacks.push_back(EarlyStopping({.patience = 9}));
  });
  // The names within a section are of another callback.
  expect_untouched([](RunSetup& setup) {
    setup.options.callbacks.back() = EarlyStopping({.patience = 9});
  });
}

// A callback has ended the run in the middle of an epoch, and it was killed before the epoch's end:
// that still comes.
TEST(Stopped, ByACallbackTheEpochStillEnds) {
  const Rows rows(kRowCount, 3);
  const auto run = [&](FileSystem& files, int64_t interrupted_after) {
    RunSetup setup(files, rows);
    setup.options.callbacks.push_back(
        LambdaCallback({.on_train_batch_end = [&](int64_t batch, const Logs&) {
          if (batch == 2 && setup.model.compiled().iterations() > 5)
            setup.model.stop_training = true;
        }}));
    setup.options.resume = true;
    int64_t steps = 0;
    setup.options.interrupted = [&] { return ++steps == interrupted_after; };
    return result_of(setup, setup.run());
  };
  MemoryFiles whole_files, files;
  const Result whole = run(whole_files, -1);
  ASSERT_EQ(whole.epochs, (std::vector<int>{0, 1}));
  run(files, 8);
  Result rest = run(files, -1);
  EXPECT_TRUE(rest.rows.empty());
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

// A disk that refuses best.ckpt so many times.
class RefusesTheBest final : public FileSystem {
 public:
  std::unique_ptr<File> open(const Path& p, OpenMode m) override { return inner_.open(p, m); }
  std::optional<int64_t> size(const Path& p) override { return inner_.size(p); }
  std::vector<std::string> list(const Path& p) override { return inner_.list(p); }
  void rename(const Path& from, const Path& to) override {
    if (to.filename() == "best.ckpt" && refusals > 0) {
      --refusals;
      throw FileError("no room for {}", to.string());
    }
    inner_.rename(from, to);
  }
  bool remove(const Path& p) override { return inner_.remove(p); }
  void create_directories(const Path& p) override { inner_.create_directories(p); }
  void sync_directory(const Path& p) override { inner_.sync_directory(p); }
  int64_t free_bytes(const Path& p) override { return inner_.free_bytes(p); }

  std::atomic<int> refusals = 0;

 private:
  MemoryFiles inner_;
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
    const auto judge = LambdaCallback({.on_epoch_end = [&disk](int epoch, Logs& logs) {
      logs["judged"] = std::vector<double>{5, 3, 4, 6}.at(static_cast<size_t>(epoch));
      if (epoch == 1) disk.refusals = 1;
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
    RefusesTheBest disk;
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
    RefusesTheBest disk;
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
