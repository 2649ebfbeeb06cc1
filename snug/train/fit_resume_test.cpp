// A run that is interrupted and resumed ends with the same bits as one that is not.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "snug/base/bytes.h"
#include "snug/base/error.h"
#include "snug/data/generator.h"
#include "snug/data/source_testing.h"
#include "snug/testing/resumable_run.h"
#include "snug/testing/sanitized.h"
#include "snug/testing/small_disk.h"
#include "snug/testing/temp_dir.h"
#include "snug/train/fit.h"
#include "snug/train/refusal.h"

namespace snug::testing {
namespace {

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

// A run whose step a budget cuts otherwise.
struct WideRun {
  Rows rows = Rows(1200, 40);
  Sequential model = Sequential({Input({40}), Dense(512, "relu"), BatchNormalization(),
                                 Dropout(0.3), Dense(256, "relu"), Dense(1)});
  FitOptions options;
  std::string partition;

  WideRun(FileSystem& files, int threads, bool tight) {
    model.compile({.optimizer = Adam(), .loss = "mse", .metrics = {"mae"}});
    options = {.batch_size = 256,
               .epochs = 3,
               .verbose = 0,
               .threads = threads,
               .reproducible = true,
               .seed = 5,
               .checkpoint = {.directory = "saved", .every_seconds = 0, .files = &files},
               .resume = true};
    // The sanitizer's own memory would count.
    if (tight && !kSanitized) options.memory = least_memory();
  }
  int64_t least_memory() {
    FitOptions little = options;
    little.memory = 1;
    try {
      FitRun(model, rows.regression(), little);
    } catch (const FitRefused& refusal) {
      return refusal.refusal().least_bytes + 64_KiB;
    }
    return 0;
  }
  History run() {
    FitRun fit(model, rows.regression(), options);
    partition = partition_of(*fit.plan().training);
    return fit.run();
  }
};

TEST(Resume, AReproducibleRunGoesOnWithAnotherBudgetOnOtherThreads) {
  MemoryFiles whole_files, files;
  WideRun whole(whole_files, 2, false);
  const History history = whole.run();
  const LogText log;
  std::set<std::string> partitions = {whole.partition};
  std::optional<WideRun> part;
  History result;
  for (const auto& [threads, tight, steps] :
       {std::tuple(1, false, 3), {3, true, 4}, {2, true, 3}, {1, true, 99}}) {
    part.emplace(files, threads, tight);
    int64_t done = 0;
    part->options.interrupted = [&done, most = steps] { return ++done >= most; };
    result = part->run();
    partitions.insert(part->partition);
  }
  EXPECT_GE(partitions.size(), kSanitized ? 1 : 2)
      << "the budgets cut the step alike: they show nothing";
  EXPECT_EQ(result.history, history.history);
  EXPECT_EQ(part->model.get_weights(), whole.model.get_weights());
  EXPECT_EQ(log.messages.find("last bits"), std::string::npos) << log.messages;
}

TEST(Resume, OnAnotherMachineSaysHowToKeepTheBits) {
  const auto said = [](const std::string& here, const std::string& there) {
    const LogText log;
    FitMachine{.instruction_set = here, .partition = "reproducible"}.compare(
        {.instruction_set = there, .partition = "reproducible"});
    return log.messages;
  };
  expect_within(said("AVX-512", "AVX2"), "AVX-512 instead of AVX2");
  expect_within(said("AVX-512", "AVX2"), "ONEDNN_MAX_CPU_ISA=AVX2");
  EXPECT_EQ(said("AVX2", "AVX-512").find("ONEDNN"), std::string::npos);
  EXPECT_EQ(said("AVX2", "AVX2"), "");
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
  const auto compiled_anew = [](const Optimizer& optimizer, const std::string& metric) {
    return [=](RunSetup& setup) {
      setup.model.compile({.optimizer = optimizer, .loss = "mse", .metrics = {"mae", metric}});
    };
  };
  expect_within(refusal(compiled_anew(RunSetup::Adam(0.01), "mse")),
                "it is of another list of metrics");
  // Whose variables are of the same names and types.
  expect_within(refusal([](RunSetup& setup) {
                  setup.model.compile(
                      {.optimizer = RunSetup::Adam(0.01), .loss = "mse", .metrics = {"mape"}});
                }),
                "the list of metrics is loss, mape, but the checkpoint is of a run with loss, mae");
  expect_within(
      refusal([](RunSetup& setup) {
        setup.model.compile(
            {.optimizer = AdamW({.learning_rate = 0.01}), .loss = "mse", .metrics = {"mae"}});
      }),
      "the optimizer is AdamW, but the checkpoint is of a run with Adam");
  expect_within(
      refusal([](RunSetup& setup) {
        setup.model.compile({.optimizer = RunSetup::Adam(0.01), .loss = "mse", .metrics = {}});
      }),
      "it is of another list of metrics");
  expect_within(refusal(compiled_anew(SGD({.learning_rate = 0.01, .momentum = 0.9}), "mae")),
                "it is of another optimizer");
  expect_within(refusal([](RunSetup& setup) { setup.options.checkpoint.directory = ""; }),
                "give checkpoint.directory");
  expect_within(refusal([](RunSetup& setup) { setup.options.checkpoint.keep = 0; }),
                "keep is 0; it must be 1 or more");
}

// All that this model has is in the checkpoint, but not the other way round.
TEST(Resume, OfAModelThatHadMoreIsRefused) {
  const Rows rows(kRowCount, 3);
  const auto optimizer = [] { return SGD({.learning_rate = 0.01}); };
  MemoryFiles files;
  RunSetup first(files, rows, optimizer());
  first.options.epochs = 1;
  first.run();
  RunSetup second(files, rows, optimizer());
  second.model = Sequential({Input({3}), Dense(6, "relu"), Dropout(0.3), Dense(1)});
  second.model.compile({.optimizer = optimizer(), .loss = "mse", .metrics = {"mae"}});
  second.options.resume = true;
  expect_within(message_of([&] { second.run(); }),
                "it is of another model: weights/batch_normalization/gamma is float32[6] there and "
                "missing here; resume with the model that it was written with");
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
  // As many bytes as can stand between two sections, and one.
  for (size_t i = 0; i < 64; ++i) text[text.size() / 2 + i] ^= 1;
  write_text(files, "saved/" + names[1], text);
  RunSetup second(files, rows);
  second.options.resume = true;
  LogText log;
  EXPECT_EQ(result_of(second, second.run()).weights, whole.weights);
  expect_within(log.messages, names[1] + ": the section");
  expect_within(log.messages, "Going on from saved/" + names[0]);
}

TEST(Resume, AfterDivergenceGoesOn) {
  const Rows rows(kRowCount, 3);
  const auto run = [&](FileSystem& files, double most_loss) {
    Sequential model({Input({3}), Dense(1)});
    model.compile({.optimizer = SGD({.learning_rate = 1e-9}), .loss = "mse"});
    std::vector<float> y(rows.y.size());
    for (size_t i = 0; i < y.size(); ++i) y[i] = i % 2 == 0 ? 1.0F : -1.0F;
    const auto far = LambdaCallback({.on_epoch_begin = [&](int epoch) {
      if (epoch == 1) model.set_weights({{1e4F, 1e4F, 1e4F}, {1e6F}});
    }});
    return model
        .fit(data::arrays(rows.inputs(), Array(y)),
             {.batch_size = 8,
              .epochs = 4,
              .callbacks = {far},
              .verbose = 0,
              .guard = {.most_loss = most_loss},
              .checkpoint = {.directory = "saved", .every_seconds = 0, .files = &files},
              .resume = true})
        .epoch;
  };
  MemoryFiles files;
  const LogText log;
  expect_within(message_of<NumericsError>([&] { run(files, 1e4); }), "in epoch 2 every step");
  // The epoch that was judged is over; the next one is judged by itself.
  expect_within(message_of<NumericsError>([&] { run(files, 1e4); }), "in epoch 3 every step");
  EXPECT_EQ(run(files, 1e30), (std::vector<int>{0, 1, 2, 3}));
}

// Rows that cannot be had now and then.
class FailingSource final : public Source {
 public:
  explicit FailingSource(SourcePtr source) : source_(std::move(source)) {}
  const std::vector<Field>& fields() const override { return source_->fields(); }
  std::optional<int64_t> rows() const override { return source_->rows(); }
  Access access() const override { return source_->access(); }
  void read(int field, std::span<const int64_t> rows, const Tensor& slot) override {
    source_->read(field, rows, slot);
  }
  void read_rows(std::span<const int64_t> rows, std::span<const Tensor> slots) override {
    if (fails && ++batches == at) fails();
    source_->read_rows(rows, slots);
  }
  int64_t next(int64_t count, std::span<const Tensor> slots) override {
    return source_->next(count, slots);
  }
  void restart() override { source_->restart(); }

  std::function<void()> fails;
  int64_t batches = 0, at = 0;

 private:
  SourcePtr source_;
};

void throw_data() { throw DataError("row 3 is nan"); }
void throw_file() { throw FileError("the disk is gone"); }

TEST(Resume, AfterRowsThatCannotBeReadGivesTheSameBits) {
  const Rows rows(kRowCount, 3);
  const Result whole = undisturbed(rows);
  for (const bool in_validation : {true, false}) {
    for (const auto& fails : {throw_data, throw_file}) {
      MemoryFiles files;
      RunSetup first(files, rows);
      const auto training = std::make_shared<FailingSource>(rows.regression(0, 40));
      const auto validation = std::make_shared<FailingSource>(rows.regression(40, 13));
      first.source = std::make_shared<RecordingSource>(training);
      first.options.validation_data = validation;
      FailingSource& failing = in_validation ? *validation : *training;
      failing.fails = fails;
      // After the first epoch, of 5 batches and 2 of its validation.
      failing.at = in_validation ? 3 : 8;
      EXPECT_THROW(first.run(), Error);
      std::vector<int64_t> read = first.source->take();
      ASSERT_FALSE(files.list("saved").empty()) << in_validation;
      RunSetup second(files, rows);
      second.options.resume = true;
      Result result = result_of(second, second.run());
      if (in_validation) read.insert(read.end(), result.rows.begin(), result.rows.end());
      // A batch of training that fails is read again.
      result.rows = in_validation ? read : whole.rows;
      EXPECT_EQ(result, whole) << in_validation;
    }
  }
}

TEST(Checkpoints, TheNewestAndTheBestAreKept) {
  const Rows rows(kRowCount, 3);
  MemoryFiles files;
  RunSetup setup(files, rows);
  setup.options.checkpoint.every_steps = 2;
  setup.options.checkpoint.beside = false;
  setup.options.checkpoint.best = "val_loss";
  const History history = setup.run();
  const size_t steps = history.epoch.size() * 5;
  EXPECT_EQ(files.list("saved"),
            (std::vector<std::string>{fmt::format("{:010}.ckpt", (steps - 1) / 2 * 2),
                                      fmt::format("{:010}.ckpt", steps), "best.ckpt"}));
  CheckpointFile(files, "saved/best.ckpt").verify();
}

TEST(Checkpoints, AFullDiskIsRefusedBeforeTheFirstStep) {
  const Rows rows(kRowCount, 3);
  MemoryFiles inner;
  SmallDisk files(inner, 1000);
  RunSetup setup(files, rows);
  expect_within(message_of<FileError>([&] { setup.run(); }), "saved: 3 checkpoints of");
  EXPECT_EQ(setup.model.compiled().iterations(), 0);
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
