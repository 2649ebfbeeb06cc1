// The cases of other frameworks' trackers that are about data. S1, S5 and S6 (loops over a
// generator, a generator with steps, tensor slices), and S3, S4, S7, S8 whole are programs in
// examples/seeds, each a test of its own (seed_...); here stand those that a program of one model
// does not show. SNUG_CASES=full runs them at the sizes that were reported: some minutes, and 3.6
// GB of disk.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "snug/base/memory.h"
#include "snug/data/csv.h"
#include "snug/data/dataset.h"
#include "snug/data/npy.h"
#include "snug/data/npy_writer.h"
#include "snug/data/source_testing.h"
#include "snug/nn/shape_layers.h"
#include "snug/testing/memory_files.h"
#include "snug/testing/sanitized.h"
#include "snug/testing/temp_dir.h"
#include "snug/train/callbacks.h"
#include "snug/train/fit_testing.h"

namespace snug::testing {
namespace {

int64_t measured() { return kSanitized ? 0 : resident_bytes(); }

int64_t at_size(int64_t small, int64_t full) {
  const char* value = std::getenv("SNUG_CASES");
  return value != nullptr && std::string_view(value) == "full" ? full : small;
}

// A file of rows of one shape, row i filled with i % 7, and the targets i % 2.
struct RowFiles {
  RowFiles(int64_t rows, const Shape& row) {
    NpyWriter x(real_files(), folder / "x.npy", row), y(real_files(), folder / "y.npy", {});
    std::vector<float> values(static_cast<size_t>(row.size()));
    for (int64_t i = 0; i < rows; ++i) {
      std::ranges::fill(values, static_cast<float>(i % 7));
      x.append(values);
      const auto label = static_cast<float>(i % 2);
      y.append({&label, 1});
    }
    x.finish();
    y.finish();
  }
  SourcePtr open() const { return data::npy(folder / "x.npy", folder / "y.npy"); }

  TempDir folder;
};

// Resident memory at the end of each epoch.
struct EpochMemory {
  LambdaCallbackOptions watch() {
    LambdaCallbackOptions options;
    options.on_epoch_end = [this](int, Logs&) { bytes.push_back(measured()); };
    return options;
  }
  std::vector<int64_t> bytes;
};

// R7 (tf#35132): shuffle(20000) of 25,000 rows of 144 KB filled 2.9 GB and grew with each epoch.
// The rows stay in their file, every one comes once an epoch, each epoch has an order of its own.
TEST(Cases, R7AShuffleOfLargeRows) {
  const int64_t rows = at_size(300, 25'000);
  const RowFiles files(rows, {300, 120});
  const auto orders = std::make_shared<RecordingSource>(files.open());
  Sequential model({Input({300, 120}), Flatten(), Dense(1, "sigmoid")});
  model.compile({.optimizer = SGD({.learning_rate = 1e-6F}), .loss = "binary_crossentropy"});
  EpochMemory memory;
  const int64_t before = measured();
  model.fit(orders, {.batch_size = 20,
                     .epochs = 4,
                     .callbacks = {LambdaCallback(memory.watch())},
                     .verbose = 0,
                     .memory = 64_MiB});
  EXPECT_LE(*std::ranges::max_element(memory.bytes) - before, 64_MiB);
  EXPECT_LE(memory.bytes.back() - memory.bytes.front(), 1_MiB);
  const std::vector<int64_t> all = orders->take();
  ASSERT_EQ(std::ssize(all), 4 * rows);
  std::vector<std::vector<int64_t>> epochs;
  for (int epoch = 0; epoch < 4; ++epoch) {
    epochs.emplace_back(all.begin() + epoch * rows, all.begin() + (epoch + 1) * rows);
    std::vector<int64_t> sorted = epochs.back();
    std::ranges::sort(sorted);
    EXPECT_EQ(sorted, numbers(0, rows));
  }
  EXPECT_NE(epochs[0], epochs[1]);
  EXPECT_NE(epochs[2], epochs[3]);
}

// R8 (tf#60599): shuffling 50,000,000 numbers took 10 GB.
TEST(Cases, R8AShuffleOfFiftyMillionRows) {
  constexpr int64_t kRows = 50'000'000;
  std::vector<bool> seen(kRows);
  const Dataset shuffled = Dataset::range(kRows).shuffle(3).batch(1024);
  EXPECT_EQ(shuffled.source()->buffer_bytes(), 0u);
  const int64_t batches = at_size(500, kRows / 1024);
  int64_t before = 0, count = 0, in_order = 0;
  for (const Batch& batch : shuffled.take(batches)) {
    if (count == 0) before = measured();
    int32_t last = -1;
    for (const int32_t row : batch.x[0].as<int32_t>()) {
      ASSERT_FALSE(seen[static_cast<size_t>(row)]);
      seen[static_cast<size_t>(row)] = true;
      in_order += row == last + 1 ? 1 : 0;
      last = row;
      ++count;
    }
  }
  EXPECT_EQ(count, batches * 1024);
  EXPECT_LE(in_order, count / 10'000);
  // The marks above are memory that is touched while rows come.
  EXPECT_LE(measured() - before, kRows / 8 + 1_MiB);
}

// R9 (tf#60659): fit on a generator grew with every batch.
TEST(Cases, R9ManyBatchesOfAGenerator) {
  std::mt19937 random(1);
  const auto next = [&](std::span<const Tensor> slots) {
    for (float& number : slots[0].as<float>()) number = static_cast<float>(random() % 100) / 100;
    for (float& number : slots[1].as<float>()) number = 0.5F;
    return slots[1].size();
  };
  Sequential model({Input({10}), Dense(1)});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const int64_t steps = at_size(10'000, 1'000'000);
  int64_t early = 0;
  LambdaCallbackOptions watch;
  watch.on_train_batch_end = [&](int64_t batch, const Logs&) {
    if (batch == steps / 10) early = measured();
  };
  model.fit(data::generator(next, {.x = {{10}}, .y = {{1}}}), {.batch_size = 32,
                                                               .steps_per_epoch = steps,
                                                               .callbacks = {LambdaCallback(watch)},
                                                               .verbose = 0});
  EXPECT_GT(early, kSanitized ? -1 : 0);
  EXPECT_LE(measured() - early, 1_MiB);
}

// S2: every epoch takes one batch of a source, which begins again, read ahead or not.
TEST(Cases, S2RestartsOfASource) {
  const RowFiles files(256, {64});
  int32_t at = 0;
  const Dataset made = Dataset::from_generator(
      [&](std::span<const Tensor> slots) -> int64_t {
        for (float& number : slots[0].as<float>()) number = static_cast<float>(at++);
        return slots[0].type.shape[0];
      },
      {.x = {{64}}, .y = {}, .restart = [&at] { at = 0; }});
  for (const Dataset& dataset :
       {made.batch(32).prefetch(), Dataset(files.open()).shuffle(1).batch(32).prefetch(2)}) {
    int64_t before = 0;
    for (int64_t restart = 0; restart < at_size(500, 5000); ++restart) {
      for (const Batch& batch : dataset.take(1)) EXPECT_EQ(batch.rows, 32);
      if (restart == 20) before = measured();
    }
    EXPECT_LE(measured() - before, 1_MiB);
  }
}

// S4: with the rows in a file, what the process has does not depend on how many there are.
TEST(Cases, S4RowsInAFile) {
  const RowFiles files(at_size(50'000, 1'000'000), {100});
  Sequential model({Input({100}), Dense(64, "relu"), Dense(1, "sigmoid")});
  model.compile({.optimizer = "adam", .loss = "binary_crossentropy"});
  EpochMemory memory;
  const int64_t before = measured();
  model.fit(files.open(), {.batch_size = 32,
                           .callbacks = {LambdaCallback(memory.watch())},
                           .verbose = 0,
                           .memory = 64_MiB});
  ASSERT_EQ(memory.bytes.size(), 1u);
  EXPECT_LE(memory.bytes[0] - before, 8_MiB);
}

// R17 (tf#8484): labels of 6 classes for 5 outputs were an error on one device, NaN on another.
TEST(Cases, R17LabelsBeyondTheOutputs) {
  const Rows rows(100, 4);
  std::vector<int32_t> labels(100);
  for (size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<int32_t>(i % 5);
  labels[83] = 5;
  const TempDir folder;
  std::string table = "a,b,c,d,label\n";
  {
    NpyWriter x(real_files(), folder / "x.npy", {4}), y(real_files(), folder / "y.npy", {});
    for (size_t i = 0; i < labels.size(); ++i) {
      const auto label = static_cast<float>(labels[i]);
      x.append({&rows.x[4 * i], 4});
      y.append({&label, 1});
      table += fmt::format("{},{},{},{},{}\n", rows.x[4 * i], rows.x[4 * i + 1], rows.x[4 * i + 2],
                           rows.x[4 * i + 3], labels[i]);
    }
    x.finish();
    y.finish();
  }
  write_text(real_files(), folder / "t.csv", table);
  int64_t at = 0;
  const auto next = [&](std::span<const Tensor> slots) -> int64_t {
    if (at == 100) return 0;
    std::copy_n(&rows.x[4 * static_cast<size_t>(at)], 4, slots[0].as<float>().begin());
    slots[1].as<int32_t>()[0] = labels[static_cast<size_t>(at++)];
    return 1;
  };
  data::CsvOptions csv{.files = {folder / "t.csv"}};
  csv.wishes.labels = {"label"};
  struct Case {
    SourcePtr source;
    std::string place;
  };
  for (const Case& one :
       {Case{data::arrays(rows.inputs(), Array(labels)), "y: row 83"},
        Case{data::npy(folder / "x.npy", folder / "y.npy"), "y.npy: row 83"},
        Case{data::csv(csv).source, "t.csv: line 85"},
        Case{data::generator(next, {.x = {{4}}, .y = {{}, DType::int32}}), "row 83"}}) {
    Sequential model({Input({4}), Dense(5, "softmax")});
    model.compile({.optimizer = "sgd", .loss = "sparse_categorical_crossentropy"});
    const std::string error = message_of<DataError>([&] { model.fit(one.source, {.verbose = 0}); });
    for (const char* part : {one.place.c_str(), "label 5", "5 outputs", "0 to 4"})
      expect_within(error, part);
    for (const std::vector<float>& weights : model.get_weights()) {
      for (const float weight : weights) EXPECT_TRUE(std::isfinite(weight));
    }
  }
}

// R23 (HF datasets#7901): a resume in the middle of a shuffled epoch lost rows and repeated others;
// here also where the batches are other ones after it.
TEST(Cases, R23AResumeInAShuffledEpoch) {
  constexpr int64_t kRows = 100;
  const Rows rows(kRows, 4);
  for (const int64_t batch_after : {8, 3, 64}) {
    MemoryFiles files;
    std::vector<int64_t> read;
    for (const bool resumes : {false, true}) {
      const auto source = std::make_shared<RecordingSource>(rows.regression());
      Sequential model = regression_model(4, Adam());
      int64_t steps = 0;
      FitOptions options{.batch_size = resumes ? batch_after : 8,
                         .epochs = 3,
                         .verbose = 0,
                         .seed = 9,
                         .checkpoint = {.directory = "saved", .every_seconds = 0, .files = &files}};
      options.resume = resumes;
      // In the middle of the second epoch.
      if (!resumes) options.interrupted = [&] { return ++steps >= 13 + 5; };
      model.fit(source, options);
      for (const int64_t row : source->take()) read.push_back(row);
    }
    ASSERT_EQ(std::ssize(read), 3 * kRows) << batch_after;
    for (int epoch = 0; epoch < 3; ++epoch) {
      std::vector<int64_t> once(read.begin() + epoch * kRows, read.begin() + (epoch + 1) * kRows);
      std::ranges::sort(once);
      EXPECT_EQ(once, numbers(0, kRows)) << "epoch " << epoch << ", then " << batch_after;
    }
  }
}

}  // namespace
}  // namespace snug::testing
