// fit on files: rows are read while steps run, and nothing of it shows in the numbers.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "snug/base/bytes.h"
#include "snug/data/dataset.h"
#include "snug/data/npy.h"
#include "snug/data/npy_writer.h"
#include "snug/data/random_source.h"
#include "snug/data/source_testing.h"
#include "snug/testing/memory_files.h"
#include "snug/testing/sanitized.h"
#include "snug/train/fit.h"
#include "snug/train/fit_testing.h"

namespace snug::testing {
namespace {

class Streaming : public ::testing::Test {
 protected:
  Streaming() : rows_(700, 12) {
    NpyWriter x(files_, "x.npy", Shape{12}), y(files_, "y.npy", Shape{});
    x.append(rows_.x);
    y.append(rows_.y);
    x.finish();
    y.finish();
  }

  SourcePtr files() { return data::npy({.x = {"x.npy"}, .y = {"y.npy"}, .files = &files_}); }

  // The weights after some epochs.
  std::vector<std::vector<float>> trained(const SourcePtr& data, FitOptions options) {
    Sequential model({Input({12}), Dense(9, "tanh"), Dense(1)});
    model.compile({.optimizer = "adam", .loss = "mse"});
    options.verbose = 0;
    options.epochs = 3;
    options.batch_size = 32;
    model.fit(data, options);
    return model.get_weights();
  }

  Rows rows_;
  MemoryFiles files_;
};

TEST_F(Streaming, TrainsAsTheSameArraysDo) {
  for (const bool shuffle : {false, true}) {
    const auto arrays = trained(rows_.regression(), {.shuffle = shuffle, .threads = 1});
    EXPECT_EQ(trained(files(), {.shuffle = shuffle, .threads = 1}), arrays);
  }
}

// Threads of the step cut its sums in other ways; those that read change nothing.
TEST_F(Streaming, GivesTheSameBitsForAnyDepth) {
  const FitOptions options{.threads = 2};
  const auto expected = trained(rows_.regression(), options);
  EXPECT_EQ(trained(files(), options), expected);
  for (const int64_t ahead : {0, 1, 2, 7}) {
    const Dataset dataset = Dataset(files()).batch(32).prefetch(ahead);
    EXPECT_EQ(trained(dataset.source(), options), expected) << ahead;
  }
}

TEST_F(Streaming, ValidatesFromFilesToo) {
  Sequential model({Input({12}), Dense(1)});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const History history =
      model.fit(files(), {.batch_size = 50, .validation_split = 0.2, .verbose = 0});
  const double whole = history.history.at("val_loss")[0];
  EXPECT_EQ(whole, model.evaluate(rows_.regression(560, 140), {.batch_size = 50}).at("loss"));
}

TEST_F(Streaming, EvaluatesAndPredictsAsTheSameArraysDo) {
  Sequential model = regression_model(12);
  const EvaluateOptions options{.batch_size = 50, .threads = 1};
  EXPECT_EQ(model.evaluate(files(), options), model.evaluate(rows_.regression(), options));
  EXPECT_EQ(model.predict(files(), options), model.predict(rows_.regression(), options));
  // Its own memory counts: the loss had other last bits there, likely of parts of fewer rows.
  if (testing::kSanitized) return;
  // Where there is no room for rows read ahead, it does without.
  EvaluateOptions little = options;
  for (little.memory = 1_MiB; little.memory < 64_MiB; little.memory += 64_KiB) {
    try {
      EXPECT_EQ(model.evaluate(files(), little), model.evaluate(rows_.regression(), options));
      break;
    } catch (const BudgetError&) {
      continue;
    }
  }
  EXPECT_LT(little.memory, 16_MiB);
}

// Each stretch of rows that is asked for takes five milliseconds.
class SlowRows final : public RandomSource {
 public:
  explicit SlowRows(SourcePtr source) : source_(std::move(source)) {
    const std::vector<Field>& fields = source_->fields();
    set_fields(fields, std::vector<int64_t>(fields.size(), *source_->rows()));
  }
  int64_t batches_ahead() const override { return kAsManyAsHelp; }

 protected:
  void read_run(int field, int64_t first, int64_t count, void* to, DType dtype) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(field == 0 ? 5 : 0));
    std::vector<int64_t> rows(static_cast<size_t>(count));
    std::iota(rows.begin(), rows.end(), first);
    source_->read(field, rows, {{dtype, Shape{count, fields()[field].row.size()}}, to});
  }

 private:
  SourcePtr source_;
};

// A source that has no twin, and says where two threads use it at once.
class OneAtATime final : public RandomSource {
 public:
  explicit OneAtATime(SourcePtr source) : source_(std::move(source)) {
    const std::vector<Field>& fields = source_->fields();
    set_fields(fields, std::vector<int64_t>(fields.size(), *source_->rows()));
  }
  int64_t batches_ahead() const override { return kAsManyAsHelp; }

 protected:
  void read_run(int field, int64_t first, int64_t count, void* to, DType dtype) override {
    EXPECT_EQ(inside_++, 0) << "two threads use one source";
    std::this_thread::sleep_for(std::chrono::microseconds(field == 0 ? 300 : 0));
    std::vector<int64_t> rows(static_cast<size_t>(count));
    std::iota(rows.begin(), rows.end(), first);
    source_->read(field, rows, {{dtype, Shape{count, fields()[field].row.size()}}, to});
    --inside_;
  }

 private:
  SourcePtr source_;
  std::atomic<int> inside_ = 0;
};

// Where an epoch ends before the rows do, they are still read ahead while others are validated
// with.
TEST_F(Streaming, TrainingAndValidationTakeTurnsAtOneSource) {
  trained(std::make_shared<OneAtATime>(files()),
          {.validation_split = 0.5, .validation_steps = 3, .steps_per_epoch = 3, .threads = 1});
}

TEST_F(Streaming, BlocksAreOfferedWhereSingleRowsTakeLong) {
  Sequential model = regression_model(12);
  const FitOptions options{.batch_size = 32, .steps_per_epoch = 1, .verbose = 0};
  const auto log_of = [&](const SourcePtr& source, bool shuffle) {
    const LogText log;
    FitOptions own = options;
    own.shuffle = shuffle;
    model.fit(source, own);
    return log.messages;
  };
  const SourcePtr slow = std::make_shared<SlowRows>(files());
  expect_within(log_of(slow, true), "x.npy: rows that are read one by one take");
  expect_within(log_of(slow, true), "`shuffle: blocks`");
  EXPECT_EQ(log_of(slow, false).find("one by one"), std::string::npos);
  EXPECT_EQ(log_of(files(), true).find("one by one"), std::string::npos);
}

TEST_F(Streaming, ThePlanCountsWhatIsReadAhead) {
  Sequential model({Input({12}), Dense(1)});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const FitPlan streamed = model.plan(files(), {.batch_size = 32, .memory = 64_MiB});
  EXPECT_GT(streamed.ahead_bytes, 0);
  EXPECT_LT(streamed.ahead_bytes, 4_MiB);
  EXPECT_TRUE(streamed.fits());
  EXPECT_EQ(model.plan(rows_.regression(), {.batch_size = 32}).ahead_bytes, 0);
}

// An error of the thread that reads comes out of fit, with the row that it is about.
TEST_F(Streaming, ABadRowIsNamed) {
  rows_.x[500 * 12 + 3] = std::numeric_limits<float>::quiet_NaN();
  NpyWriter x(files_, "x.npy", Shape{12});
  x.append(rows_.x);
  x.finish();
  for (const int threads : {1, 2}) {
    const std::string message =
        message_of<DataError>([&] { trained(files(), {.threads = threads}); });
    expect_within(message, "x.npy: row 500, column 3 is nan, but a finite number was expected");
  }
}

TEST_F(Streaming, AFileThatIsCutOffDuringTheRunIsNamed) {
  Sequential model({Input({12}), Dense(1)});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  FitRun run(model, files(), {.batch_size = 32, .epochs = 2, .verbose = 0});
  files_.open("x.npy", OpenMode::update)->truncate(2000);
  expect_within(message_of<FileError>([&] { run.run(); }), "it was changed during the run");
}

// Steps that end before the rows do, passes that go on in the next epoch: the announced order is
// kept to.
TEST_F(Streaming, PassesGoOnOverEpochs) {
  const FitOptions options{.steps_per_epoch = 5, .threads = 1};
  EXPECT_EQ(trained(files(), options), trained(rows_.regression(), options));
}

TEST_F(Streaming, BlocksAreShuffledTheSameOnAnyThreads) {
  const auto blocks = [&](const SourcePtr& source) {
    return Dataset(source)
        .shuffle_blocks({.seed = 4, .window_bytes = 8192, .block_bytes = 512})
        .batch(32)
        .source();
  };
  const FitOptions options{.shuffle = false, .threads = 1};
  const auto expected = trained(blocks(rows_.regression()), options);
  EXPECT_EQ(trained(blocks(files()), options), expected);
  EXPECT_NE(trained(files(), options), expected);
}

}  // namespace
}  // namespace snug::testing
