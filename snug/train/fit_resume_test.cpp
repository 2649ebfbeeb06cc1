// A run that is interrupted and resumed ends with the same bits as one that is not.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "snug/base/error.h"
#include "snug/data/generator.h"
#include "snug/data/source_testing.h"
#include "snug/nn/dropout.h"
#include "snug/nn/normalization.h"
#include "snug/testing/faulty_file.h"
#include "snug/testing/memory_files.h"
#include "snug/testing/temp_dir.h"
#include "snug/train/callbacks.h"
#include "snug/train/fit.h"
#include "snug/train/fit_testing.h"

namespace snug::testing {
namespace {

constexpr int64_t kRowCount = 53;

// Everything that can go wrong in a resume: shuffling, dropout, batch norm, moments, a rate that a
// callback lowers, early stopping with its best weights, validation, a log file.
struct RunSetup {
  FileSystem* files = nullptr;
  std::shared_ptr<RecordingSource> source;
  Sequential model;
  FitOptions options;

  RunSetup(FileSystem& to, const Rows& rows, const Optimizer& optimizer = Adam(0.01))
      : files(&to),
        source(std::make_shared<RecordingSource>(rows.regression(0, 40))),
        model({Input({3}), Dense(6, "relu"), BatchNormalization(), Dropout(0.3), Dense(1)}) {
    model.compile({.optimizer = optimizer, .loss = "mse", .metrics = {"mae"}});
    options = {.batch_size = 8,
               .epochs = 6,
               .validation_data = rows.regression(40, kRowCount - 40),
               .callbacks = {EarlyStopping({.patience = 4, .restore_best_weights = true}),
                             CSVLogger("log.csv", {}, to)},
               .verbose = 0,
               .threads = 1,
               .seed = 5,
               .checkpoint = {.directory = "saved", .every_seconds = 0, .files = &to}};
    if (!optimizer->common().learning_rate.schedule()) {
      options.callbacks.push_back(ReduceLROnPlateau({.patience = 1, .min_delta = 0.05}));
    }
  }
  static Optimizer Adam(double rate) { return snug::Adam({.learning_rate = rate}); }

  History run() { return model.fit(source, options); }
};

struct Result {
  std::vector<std::vector<float>> weights;
  std::map<std::string, std::vector<double>> history;
  std::vector<int> epochs;
  std::string log;
  std::vector<int64_t> rows;
  friend bool operator==(const Result&, const Result&) = default;
};

Result result_of(RunSetup& setup, const History& history) {
  return {setup.model.get_weights(), history.history, history.epoch,
          read_text(*setup.files, "log.csv"), setup.source->take()};
}

Result undisturbed(const Rows& rows, const Optimizer& optimizer = RunSetup::Adam(0.01)) {
  MemoryFiles files;
  RunSetup setup(files, rows, optimizer);
  const History history = setup.run();
  return result_of(setup, history);
}

TEST(Resume, AtEveryStepGivesTheSameBits) {
  const Rows rows(kRowCount, 3);
  const Result whole = undisturbed(rows);
  ASSERT_EQ(whole.rows.size(), whole.epochs.size() * 40);
  for (int64_t stop = 1; stop <= 32; ++stop) {
    MemoryFiles files;
    RunSetup first(files, rows);
    int64_t steps = 0;
    first.options.interrupted = [&] { return ++steps >= stop; };
    first.run();
    std::vector<int64_t> read = first.source->take();
    RunSetup second(files, rows);
    second.options.resume = true;
    Result result = result_of(second, second.run());
    // Every row exactly once an epoch, in the same order.
    read.insert(read.end(), result.rows.begin(), result.rows.end());
    result.rows = read;
    EXPECT_EQ(result, whole) << "interrupted after step " << stop;
  }
}

TEST(Resume, WithASchedule) {
  const Rows rows(kRowCount, 3);
  const auto optimizer = [] { return Adam({.learning_rate = make_schedule("CosineDecay")}); };
  const Result whole = undisturbed(rows, optimizer());
  MemoryFiles files;
  RunSetup first(files, rows, optimizer());
  int64_t steps = 0;
  first.options.interrupted = [&] { return ++steps >= 8; };
  first.run();
  RunSetup second(files, rows, optimizer());
  second.options.resume = true;
  const Result result = result_of(second, second.run());
  EXPECT_EQ(result.weights, whole.weights);
  EXPECT_EQ(result.history, whole.history);
}

TEST(Resume, TwoTimesInOneRun) {
  const Rows rows(kRowCount, 3);
  const Result whole = undisturbed(rows);
  MemoryFiles files;
  Result result;
  for (int run = 0; run < 5; ++run) {
    RunSetup setup(files, rows);
    int64_t steps = 0;
    setup.options.resume = true;
    if (run < 4) setup.options.interrupted = [&] { return ++steps >= 7; };
    const History history = setup.run();
    if (run == 4) result = result_of(setup, history);
  }
  EXPECT_EQ(result.weights, whole.weights);
  EXPECT_EQ(result.history, whole.history);
  EXPECT_EQ(result.log, whole.log);
}

// Rows of a generator are replayed up to the place.
TEST(Resume, ReplaysAGenerator) {
  const auto source = [] {
    const auto next = std::make_shared<int64_t>(0);
    return data::generator(
        [next](std::span<const Tensor> slots) -> int64_t {
          if (*next >= 64) return 0;
          for (int64_t i = 0; i < 2; ++i)
            slots[0].as<float>()[i] = static_cast<float>(*next % 7 + i);
          slots[1].as<float>()[0] = static_cast<float>(*next % 5);
          ++*next;
          return 1;
        },
        {.x = Shape{2}, .y = Shape{}, .restart = [next] { *next = 0; }});
  };
  const auto run = [&](FileSystem& files, int64_t stop, bool resume) {
    Sequential model({Input({2}), Dense(4, "tanh"), Dropout(0.5), Dense(1)});
    model.compile({.optimizer = Adam(), .loss = "mse"});
    int64_t steps = 0;
    model.fit(source(), {.batch_size = 8,
                         .epochs = 3,
                         .verbose = 0,
                         .checkpoint = {.directory = "saved", .files = &files},
                         .resume = resume,
                         .interrupted = [&] { return ++steps == stop; }});
    return model.get_weights();
  };
  MemoryFiles whole_files, files;
  const auto whole = run(whole_files, -1, false);
  run(files, 11, false);
  EXPECT_EQ(run(files, -1, true), whole);
}

TEST(Resume, WithStepsPerEpoch) {
  const Rows rows(kRowCount, 3);
  const auto run = [&](FileSystem& files, int64_t stop, bool resume) {
    RunSetup setup(files, rows);
    setup.options.steps_per_epoch = 3;
    setup.options.resume = resume;
    int64_t steps = 0;
    setup.options.interrupted = [&] { return ++steps == stop; };
    const History history = setup.run();
    return std::pair(setup.model.get_weights(), history.history);
  };
  MemoryFiles whole_files;
  const auto whole = run(whole_files, -1, false);
  for (const int64_t stop : {1, 3, 4, 8, 11}) {
    MemoryFiles files;
    run(files, stop, false);
    EXPECT_EQ(run(files, -1, true), whole) << stop;
  }
}

TEST(Resume, AnotherBatchSizeGoesOnAtTheSameRow) {
  const Rows rows(kRowCount, 3);
  MemoryFiles files;
  RunSetup first(files, rows);
  int64_t steps = 0;
  first.options.interrupted = [&] { return ++steps == 3; };
  first.run();
  std::vector<int64_t> read = first.source->take();
  RunSetup second(files, rows);
  second.options.resume = true;
  second.options.batch_size = 5;
  second.options.epochs = 1;
  LogText log;
  second.run();
  expect_within(log.messages, "batches of 5 rows instead of 8");
  const std::vector<int64_t> rest = second.source->take();
  read.insert(read.end(), rest.begin(), rest.end());
  std::ranges::sort(read);
  EXPECT_EQ(read, numbers(0, 40));
}

TEST(Resume, SaysWhatDoesNotFit) {
  const Rows rows(kRowCount, 3);
  MemoryFiles files;
  RunSetup first(files, rows);
  first.options.epochs = 1;
  first.run();
  const auto refusal = [&](const std::function<void(RunSetup&)>& change) {
    RunSetup second(files, rows);
    second.options.resume = true;
    change(second);
    return message_of([&] { second.run(); });
  };
  expect_within(refusal([](RunSetup& setup) { setup.options.seed = 6; }),
                "the seed is 6, but the checkpoint is of a run with 5");
  expect_within(refusal([](RunSetup& setup) { setup.options.shuffle = false; }), "shuffle");
  expect_within(refusal([](RunSetup& setup) { setup.options.resume = false; }),
                "there are checkpoints of another run");
  expect_within(refusal([](RunSetup& setup) { setup.model = regression_model(3, Adam()); }),
                "it is of another model");
  expect_within(refusal([](RunSetup& setup) { setup.options.checkpoint.directory = ""; }),
                "give checkpoint.directory");
  expect_within(refusal([](RunSetup& setup) { setup.options.checkpoint.keep = 0; }),
                "keep is 0; it must be 1 or more");
}

TEST(Resume, WithoutACheckpointStartsAnew) {
  const Rows rows(kRowCount, 3);
  const Result whole = undisturbed(rows);
  MemoryFiles files;
  RunSetup setup(files, rows);
  setup.options.resume = true;
  EXPECT_EQ(result_of(setup, setup.run()), whole);
}

TEST(Resume, OfAFinishedRunChangesNothing) {
  const Rows rows(kRowCount, 3);
  MemoryFiles files;
  RunSetup first(files, rows);
  const Result whole = result_of(first, first.run());
  RunSetup second(files, rows);
  second.options.resume = true;
  const Result again = result_of(second, second.run());
  EXPECT_EQ(again.weights, whole.weights);
  EXPECT_EQ(again.history, whole.history);
  EXPECT_EQ(again.log, whole.log);
  EXPECT_TRUE(again.rows.empty());
}

TEST(Resume, TakesTheOneBeforeADamagedOne) {
  const Rows rows(kRowCount, 3);
  const Result whole = undisturbed(rows);
  MemoryFiles files;
  RunSetup first(files, rows);
  first.options.checkpoint.every_steps = 3;
  int64_t steps = 0;
  first.options.interrupted = [&] { return ++steps == 11; };
  first.run();
  const std::vector<std::string> names = files.list("saved");
  ASSERT_EQ(names.size(), 2);
  std::string text = read_text(files, "saved/" + names[1]);
  text[text.size() / 2] ^= 1;
  write_text(files, "saved/" + names[1], text);
  RunSetup second(files, rows);
  second.options.resume = true;
  LogText log;
  EXPECT_EQ(result_of(second, second.run()).weights, whole.weights);
  expect_within(log.messages, names[1] + ": the section");
  expect_within(log.messages, "Going on from saved/" + names[0]);
}

TEST(Checkpoints, TheNewestAndTheBestAreKept) {
  const Rows rows(kRowCount, 3);
  MemoryFiles files;
  RunSetup setup(files, rows);
  setup.options.checkpoint.every_steps = 2;
  setup.options.checkpoint.best = "val_loss";
  const History history = setup.run();
  const size_t steps = history.epoch.size() * 5;
  EXPECT_EQ(files.list("saved"),
            (std::vector<std::string>{fmt::format("{:010}.ckpt", (steps - 1) / 2 * 2),
                                      fmt::format("{:010}.ckpt", steps), "best.ckpt"}));
  CheckpointFile(files, "saved/best.ckpt").verify();
}

TEST(Checkpoints, AFullDiskIsRefusedBeforeTheFirstStep) {
  class SmallDisk final : public FileSystem {
   public:
    explicit SmallDisk(FileSystem& inner) : inner_(inner) {}
    std::unique_ptr<File> open(const Path& p, OpenMode m) override { return inner_.open(p, m); }
    std::optional<int64_t> size(const Path& p) override { return inner_.size(p); }
    std::vector<std::string> list(const Path& p) override { return inner_.list(p); }
    void rename(const Path& a, const Path& b) override { inner_.rename(a, b); }
    bool remove(const Path& p) override { return inner_.remove(p); }
    void create_directories(const Path& p) override { inner_.create_directories(p); }
    void sync_directory(const Path& p) override { inner_.sync_directory(p); }
    int64_t free_bytes(const Path&) override { return 1000; }

   private:
    FileSystem& inner_;
  };
  const Rows rows(kRowCount, 3);
  MemoryFiles inner;
  SmallDisk files(inner);
  RunSetup setup(files, rows);
  expect_within(message_of<FileError>([&] { setup.run(); }), "saved: 3 checkpoints of");
  EXPECT_EQ(setup.model.compiled().iterations(), 0);
}

// Every call fails once, in every way: the run goes on or stops with a message, and what is on the
// disk afterwards resumes to the same bits.
TEST(Checkpoints, EveryWriteMayFail) {
  const Rows rows(kRowCount, 3);
  const Result whole = undisturbed(rows);
  const auto make = [&](FileSystem& files) {
    RunSetup setup(files, rows);
    setup.options.checkpoint.every_steps = 4;
    setup.options.resume = true;
    return setup;
  };
  MemoryFiles counted_disk;
  FaultyFiles counted(counted_disk);
  make(counted).run();
  const int64_t calls = counted.calls();
  ASSERT_GT(calls, 60);
  const LogText log;
  int64_t stopped = 0;
  for (const Fault fault :
       {Fault::no_space, Fault::input_output, Fault::short_write, Fault::crash}) {
    // All of them by seed: each fault has its own calls.
    for (int64_t call = 1 + static_cast<int64_t>(fault); call <= calls; call += 3) {
      MemoryFiles disk;
      FaultyFiles files(disk);
      files.fail_call(call, fault);
      bool ended = false;
      try {
        RunSetup setup = make(files);
        EXPECT_EQ(setup.run().history, whole.history);
        EXPECT_EQ(setup.model.get_weights(), whole.weights) << "call " << call;
        ended = true;
      } catch (const FileError&) {
        ++stopped;
      } catch (const Crash&) {
      }
      if (ended) continue;
      const auto after =
          fault == Fault::crash ? disk.after_crash(static_cast<uint64_t>(call)) : nullptr;
      RunSetup again = make(after ? *after : disk);
      EXPECT_EQ(again.run().history, whole.history) << "call " << call;
      EXPECT_EQ(again.model.get_weights(), whole.weights) << "call " << call;
    }
  }
  EXPECT_LT(stopped, calls);
}

TEST(Checkpoints, ADirectoryInUseIsRefused) {
  const TempDir folder;
  const Rows rows(kRowCount, 3);
  const FileLock lock(folder.path());
  Sequential model = regression_model(3);
  const std::string message = message_of<FileError>([&] {
    model.fit(rows.regression(), {.verbose = 0, .checkpoint = {.directory = folder.path()}});
  });
  expect_within(message, "is using this directory");
}

TEST(Checkpoints, NeverHoldWhatIsNotFinite) {
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
             .checkpoint = {.directory = "saved", .every_epochs = 1, .files = &files}});
  expect_within(log.messages, "no checkpoint could be saved: weights/dense/kernel holds nan");
  EXPECT_EQ(files.list("saved").size(), 1);
}

TEST(BackupAndRestore, GoesOnAndCleansUp) {
  const Rows rows(kRowCount, 3);
  const auto run = [&](FileSystem& files, int64_t stop) {
    Sequential model({Input({3}), Dense(6, "relu"), Dropout(0.3), Dense(1)});
    model.compile({.optimizer = Adam(), .loss = "mse"});
    int64_t steps = 0;
    model.fit(rows.regression(),
              {.batch_size = 8,
               .epochs = 3,
               .callbacks = {BackupAndRestore("backup", {.save_freq = "2"}, files)},
               .verbose = 0,
               .interrupted = [&] { return ++steps == stop; }});
    return model.get_weights();
  };
  MemoryFiles whole_files, files;
  const auto whole = run(whole_files, -1);
  EXPECT_TRUE(whole_files.list("backup").empty());
  run(files, 9);
  EXPECT_EQ(files.list("backup").size(), 1);
  EXPECT_EQ(run(files, -1), whole);
  EXPECT_TRUE(files.list("backup").empty());
  expect_within(message_of([] { BackupAndRestore("a", {.save_freq = "often"}); }),
                "save_freq is \"often\"");
  expect_within(message_of([] { BackupAndRestore(""); }), "backup_dir is empty");
}

}  // namespace
}  // namespace snug::testing
