// Runs that were stopped, by whom ever, and go on or may not.
#include <gtest/gtest.h>

#include "snug/base/error.h"
#include "snug/data/source_testing.h"
#include "snug/testing/resumable_run.h"
#include "snug/train/fit.h"

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

}  // namespace
}  // namespace snug::testing
