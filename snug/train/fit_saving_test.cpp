// Saving: beside the steps or in place, while the disk fails in every way that it can.
#include <gtest/gtest.h>

#include <cmath>
#include <condition_variable>
#include <cstdlib>
#include <thread>

#include "snug/base/error.h"
#include "snug/data/source_testing.h"
#include "snug/testing/faulty_file.h"
#include "snug/testing/forwarding_files.h"
#include "snug/testing/resumable_run.h"
#include "snug/testing/sanitized.h"
#include "snug/train/checkpoint_store.h"
#include "snug/train/fit.h"

namespace snug::testing {
namespace {

// All files of checkpoints and models that are there are whole and finite.
void expect_good_files(FileSystem& files) {
  files.create_directories("saved");
  for (const std::string& name : files.list("saved")) {
    if (!name.ends_with(".ckpt")) continue;
    CheckpointFile(files, Path("saved") / name).verify();
  }
  if (!files.size("best.keras")) return;
  Model model = load_model("best.keras", {}, files);
  for (const auto& weight : model.get_weights()) {
    for (const float value : weight) EXPECT_TRUE(std::isfinite(value));
  }
}

RunSetup faulty_run(FileSystem& files, const Rows& rows, bool beside) {
  RunSetup setup(files, rows);
  setup.options.checkpoint.every_steps = 4;
  setup.options.checkpoint.best = "val_loss";
  setup.options.checkpoint.beside = beside;
  setup.options.resume = true;
  setup.options.callbacks.push_back(ModelCheckpoint("best.keras", {.save_best_only = true}, files));
  setup.options.callbacks.push_back(TensorBoard("events", {}, files));
  return setup;
}

using SavingFault = std::tuple<bool, Fault>;  // Whether beside the steps, and what happens.
class EveryWrite : public ::testing::TestWithParam<SavingFault> {};

std::string name_of(const ::testing::TestParamInfo<SavingFault>& test) {
  const char* const faults[] = {"NoSpace", "InputOutput", "ShortWrite", "Crash"};
  const auto& [beside, fault] = test.param;
  return fmt::format("{}{}", beside ? "BesideTheSteps" : "InPlace",
                     faults[static_cast<int>(fault)]);
}

// In CI each call fails in one of the ways or, one in two, in none; with SNUG_EVERY_WRITE=all each
// in every way.
int64_t stride() {
  if (std::getenv("SNUG_EVERY_WRITE") != nullptr) return 1;
  return kSanitized ? 56 : 8;
}

// Every open, write, sync, close, rename and removal fails once, in every way. An error of the disk
// stops the run only before its first step; what a crash leaves resumes to the same bits, logs
// included.
TEST_P(EveryWrite, MayFail) {
  const Rows rows(kRowCount, 3);
  const Result whole = undisturbed(rows);
  const auto [beside, fault] = GetParam();
  MemoryFiles counted_disk;
  FaultyFiles counted(counted_disk);
  faulty_run(counted, rows, beside).run();
  const int64_t calls = counted.calls();
  ASSERT_GT(calls, 200);
  const LogText log;
  const int64_t first = stride() == 1 ? 1 : 1 + 2 * static_cast<int64_t>(fault);
  for (int64_t call = first; call <= calls; call += stride()) {
    MemoryFiles disk;
    FaultyFiles files(disk);
    files.fail_call(call, fault);
    FileSystem* left = &disk;
    std::unique_ptr<MemoryFiles> after;
    bool ended = false;
    int64_t steps = 0;
    try {
      RunSetup setup = faulty_run(files, rows, beside);
      setup.options.callbacks.push_back(
          LambdaCallback({.on_train_batch_end = [&](int64_t, const Logs&) { ++steps; }}));
      EXPECT_EQ(setup.run().history, whole.history);
      EXPECT_EQ(setup.model.get_weights(), whole.weights) << "call " << call;
      ended = true;
    } catch (const FileError&) {
      EXPECT_EQ(steps, 0) << "call " << call;
    } catch (const Crash&) {
      after = disk.after_crash(static_cast<uint64_t>(call));
      left = after.get();
    }
    expect_good_files(*left);
    if (!ended) {
      RunSetup again = faulty_run(*left, rows, beside);
      again.options.callbacks.push_back(LambdaCallback({}));
      EXPECT_EQ(again.run().history, whole.history) << "call " << call;
      EXPECT_EQ(again.model.get_weights(), whole.weights) << "call " << call;
    }
    EXPECT_EQ(read_text(*left, "log.csv"), whole.log);
    if (HasFailure()) FAIL() << "call " << call << " of " << calls;
  }
}

INSTANTIATE_TEST_SUITE_P(Saving, EveryWrite,
                         ::testing::Combine(::testing::Bool(),
                                            ::testing::Values(Fault::no_space, Fault::input_output,
                                                              Fault::short_write, Fault::crash)),
                         name_of);

// A disk on which a checkpoint's writes wait until they are let through.
class GatedFiles final : public ForwardingFiles {
 public:
  using ForwardingFiles::ForwardingFiles;

  void open_gate() {
    {
      const std::lock_guard lock(mutex_);
      is_open_ = true;
    }
    changed_.notify_all();
  }
  std::unique_ptr<File> open(const Path& path, OpenMode mode) override {
    if (mode == OpenMode::write && path.extension() == ".tmp") {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return is_open_; });
    }
    return inner().open(path, mode);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_open_ = false;
};

// Training goes on while the disk does nothing, and the file holds the step at which it was due.
TEST(SavingBeside, HoldsTheStateOfItsStep) {
  const Rows rows(40, 3);
  MemoryFiles disk;
  GatedFiles files(disk);
  Sequential model = regression_model(3, Adam());
  std::vector<std::vector<float>> at_save, at_release;
  int64_t steps = 0;
  const auto watch = LambdaCallback({.on_train_batch_end = [&](int64_t, const Logs&) {
    ++steps;
    if (steps == 10) at_save = model.get_weights();
    if (steps != 19) return;
    at_release = model.get_weights();
    EXPECT_TRUE(disk.list("saved").empty());
    files.open_gate();
  }});
  model.fit(rows.regression(), {.batch_size = 8,
                                .epochs = 5,
                                .callbacks = {watch},
                                .verbose = 0,
                                .checkpoint = {.directory = "saved",
                                               .every_seconds = 0,
                                               .every_steps = 10,
                                               .keep = 9,
                                               .files = &files}});
  ASSERT_NE(at_save, at_release);
  const CheckpointFile file(disk, "saved/0000000010.ckpt");
  file.verify();
  std::vector<float> kernel(12);
  file.read_values({{"weights/dense/kernel", {{DType::float32, {3, 4}}, kernel.data()}}});
  EXPECT_EQ(kernel, at_save[0]);
  EXPECT_EQ(disk.list("saved").back(), "0000000025.ckpt");
}

// What is asked for by steps costs no more than twice as many when the disk is slow.
TEST(SavingBeside, DoesNotFallFarBehind) {
  const Rows rows(40, 3);
  MemoryFiles disk;
  Sequential model = regression_model(3, Adam());
  int64_t steps = 0;
  const auto watch = LambdaCallback({.on_train_batch_begin = [&](int64_t) {
    if (++steps < 8) return;
    // Not by a second store, which would clear away what is being written.
    int64_t newest = 0;
    for (const Path name : disk.list("saved")) {
      if (name.extension() == ".ckpt") newest = std::max(newest, std::stol(name.stem().string()));
    }
    EXPECT_GE(newest, steps - 1 - 2 * 2);
  }});
  model.fit(
      rows.regression(),
      {.batch_size = 2,
       .epochs = 5,
       .callbacks = {watch},
       .verbose = 0,
       .checkpoint = {.directory = "saved", .every_seconds = 0, .every_steps = 2, .files = &disk}});
}

TEST(SavingBeside, IsPlannedOnlyWhereTheBudgetLeavesRoom) {
  const Rows rows(64, 32);
  MemoryFiles files;
  const auto options = [&](int64_t memory, bool saves) {
    FitOptions options{.batch_size = 16, .verbose = 0, .memory = memory};
    if (saves) options.checkpoint = {.directory = "saved", .files = &files};
    return options;
  };
  const auto model = [] {
    Sequential model({Input({32}), Dense(1024, "relu"), Dense(1024, "relu"), Dense(1)});
    model.compile({.optimizer = Adam(), .loss = "mse"});
    return model;
  };
  Sequential free = model();
  const FitPlan plan = free.plan(rows.regression(), options(0, true));
  const int64_t state = plan.weight_bytes + plan.slot_bytes;
  EXPECT_GE(plan.save_bytes, state);
  EXPECT_LE(plan.save_bytes, state + (1 << 20));
  expect_within(plan.text(), "copy of the state");
  // As much as it takes without the copy, and a little.
  Sequential tight = model();
  const int64_t memory = plan.needed_bytes() - plan.save_bytes / 2;
  FitOptions in_place = options(memory, true);
  EXPECT_EQ(tight.plan(rows.regression(), in_place).save_bytes, 0);
  tight.fit(rows.regression(), in_place);
  EXPECT_EQ(files.list("saved").size(), 1);
}

class NeverSaved : public ::testing::TestWithParam<bool> {};

TEST_P(NeverSaved, WhatIsNotFinite) {
  const Rows rows(kRowCount, 3);
  MemoryFiles files;
  Sequential model = regression_model(3);
  const auto spoil = LambdaCallback({.on_epoch_end = [&](int epoch, Logs&) {
    if (epoch == 1) model.weights()[0]->tensor().as<float>()[0] = NAN;
  }});
  LogText log;
  model.fit(rows.regression(),
            {.epochs = 2,
             .callbacks = {spoil},
             .verbose = 0,
             .checkpoint = {
                 .directory = "saved", .every_epochs = 1, .beside = GetParam(), .files = &files}});
  expect_within(log.messages, "no checkpoint could be saved: weights/dense/kernel holds nan");
  EXPECT_EQ(files.list("saved").size(), 1);
}

INSTANTIATE_TEST_SUITE_P(Saving, NeverSaved, ::testing::Bool(), [](const auto& test) {
  return test.param ? "BesideTheSteps" : "InPlace";
});

// What the writer meets that is no fault of the disk reaches the run.
TEST(SavingBeside, PassesOnWhatItCannotMend) {
  const Rows rows(40, 3);
  MemoryFiles disk;
  for (int64_t call = 1; call < 30; ++call) {
    FaultyFiles files(disk);
    Sequential model = regression_model(3, Adam());
    files.fail_call(call, Fault::crash);
    EXPECT_THROW(model.fit(rows.regression(), {.batch_size = 4,
                                               .epochs = 2,
                                               .verbose = 0,
                                               .checkpoint = {.directory = "saved",
                                                              .every_seconds = 0,
                                                              .every_steps = 2,
                                                              .files = &files},
                                               .resume = true}),
                 Crash);
  }
}

TEST(SavingBeside, TwoRunsAtOnceGiveWhatEachGivesAlone) {
  const auto run = [](uint64_t seed) {
    MemoryFiles files;
    const Rows rows(kRowCount, 3, seed);
    RunSetup setup(files, rows);
    setup.options.threads = 2;
    setup.options.checkpoint.every_steps = 3;
    return result_of(setup, setup.run());
  };
  const Result alone[] = {run(1), run(2)};
  for (int round = 0; round < 3; ++round) {
    Result together[2];
    std::thread other([&] { together[1] = run(2); });
    together[0] = run(1);
    other.join();
    EXPECT_EQ(together[0], alone[0]);
    EXPECT_EQ(together[1], alone[1]);
  }
}

}  // namespace
}  // namespace snug::testing
