// fit, evaluate and predict on a Dataset.

#include <gtest/gtest.h>

#include "snug/data/dataset.h"
#include "snug/data/source_testing.h"
#include "snug/train/fit_testing.h"

namespace snug::testing {
namespace {

Sequential linear_model() {
  Sequential model({Input({4}), Dense(1)});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  return model;
}

TEST(FitDataset, TrainsAsTheSameArraysDo) {
  const Rows rows(100, 4);
  const Dataset dataset = Dataset::from_tensor_slices(rows.inputs(), Array(rows.y)).batch(16);
  Sequential from_arrays = linear_model(), from_dataset = linear_model();
  const History one = from_arrays.fit(
      rows.regression(), {.batch_size = 16, .epochs = 3, .shuffle = false, .verbose = 0});
  const History other = from_dataset.fit(dataset, {.epochs = 3, .verbose = 0});
  EXPECT_EQ(one.history, other.history);
  EXPECT_EQ(from_arrays.get_weights(), from_dataset.get_weights());
  EXPECT_EQ(from_arrays.evaluate(rows.regression()), from_dataset.evaluate(dataset.source()));
  EXPECT_EQ(from_dataset.predict(dataset)[0].size(), 100u);
}

TEST(FitDataset, ShufflesAnewInEachEpoch) {
  const Rows rows(64, 4);
  const auto source = std::make_shared<RecordingSource>(rows.regression());
  Sequential model = linear_model();
  model.fit(Dataset(source).shuffle(3).batch(16), {.epochs = 2, .verbose = 0});
  std::vector<int64_t> read;
  for (const auto& batch : source->batches) read.insert(read.end(), batch.begin(), batch.end());
  ASSERT_EQ(read.size(), 128u);
  std::vector<int64_t> first(read.begin(), read.begin() + 64),
      second(read.begin() + 64, read.end());
  EXPECT_NE(first, second);
  std::ranges::sort(first);
  std::ranges::sort(second);
  EXPECT_EQ(first, second) << "each row once an epoch";
}

TEST(FitDataset, DropRemainder) {
  const Rows rows(50, 4);
  Sequential model = linear_model();
  const Dataset dataset = Dataset::from_tensor_slices(rows.inputs(), Array(rows.y)).batch(16, true);
  EXPECT_EQ(model.predict(dataset)[0].size(), 48u);
}

// Rows of `rows` one after the other; `counted`: their number is known.
SourcePtr generated(const Rows& rows, bool counted) {
  const auto at = std::make_shared<int64_t>(0);
  GeneratorSpec spec{.x = Shape{4}, .y = Shape{}};
  spec.restart = [at] { *at = 0; };
  if (counted) spec.rows = rows.count;
  return data::generator(
      [at, &rows](std::span<const Tensor> slots) -> int64_t {
        const int64_t count = std::min(slots[0].shape()[0], rows.count - *at);
        std::copy_n(&rows.x[*at * 4], count * 4, slots[0].as<float>().data());
        std::copy_n(&rows.y[*at], count, slots[1].as<float>().data());
        *at += count;
        return count;
      },
      spec);
}

// A sequence that ends in the middle of a batch: every row counts once, as with arrays.
TEST(FitDataset, TheLastBatchOfASequenceMayBeShort) {
  const Rows rows(50, 4);
  Sequential from_arrays = linear_model();
  const History expected = from_arrays.fit(
      rows.regression(), {.batch_size = 16, .epochs = 3, .shuffle = false, .verbose = 0});
  for (const bool counted : {true, false}) {
    Sequential model = linear_model();
    const History history =
        model.fit(generated(rows, counted), {.batch_size = 16, .epochs = 3, .verbose = 0});
    EXPECT_EQ(history.history, expected.history) << counted;
    EXPECT_EQ(model.get_weights(), from_arrays.get_weights()) << counted;
    EXPECT_EQ(model.predict(generated(rows, counted), {.batch_size = 16}),
              from_arrays.predict(rows.regression(), {.batch_size = 16}));
    EXPECT_EQ(model.evaluate(generated(rows, counted), {.batch_size = 7}),
              from_arrays.evaluate(rows.regression(), {.batch_size = 7}));
  }
}

// One row after the other, of a number that changes from epoch to epoch.
TEST(FitDataset, EpochsOfASequenceMayDiffer) {
  const Rows rows(40, 4);
  int64_t at = 0, epoch = 0;
  GeneratorSpec spec{.x = Shape{4}, .y = Shape{}};
  spec.restart = [&] {
    at = 0;
    ++epoch;
  };
  const SourcePtr source = data::generator(
      [&](std::span<const Tensor> slots) -> int64_t {
        if (at == 20 + 3 * (epoch % 5)) return 0;
        std::copy_n(&rows.x[at * 4], 4, slots[0].as<float>().data());
        slots[1].as<float>()[0] = rows.y[at];
        ++at;
        return 1;
      },
      spec);
  Sequential model = linear_model();
  const History history = model.fit(source, {.batch_size = 16, .epochs = 12, .verbose = 0});
  EXPECT_EQ(history.history.at("loss").size(), 12u);
  EXPECT_LT(history.history.at("loss").back(), history.history.at("loss").front());
}

TEST(FitDataset, WithoutEnd) {
  const Rows rows(50, 4);
  Sequential model = linear_model();
  const Dataset once = Dataset::from_tensor_slices(rows.inputs(), Array(rows.y));
  const std::string start = "the Dataset repeats without end; give ",
                    end = ", or repeat a number of times";
  for (const Dataset& endless : {once.repeat().batch(10), once.batch(10).repeat()}) {
    EXPECT_EQ(message_of([&] { model.fit(endless, {.verbose = 0}); }),
              start + "steps_per_epoch" + end);
    EXPECT_EQ(message_of([&] { model.evaluate(endless); }), start + "steps" + end);
    EXPECT_EQ(message_of([&] { model.predict(endless); }), start + "steps" + end);
    model.fit(endless, {.steps_per_epoch = 7, .verbose = 0});
    EXPECT_EQ(model.compiled().iterations() % 7, 0);
    model.evaluate(endless.take(6));
  }
  EXPECT_FALSE(once.repeat(2).is_endless());
}

TEST(FitDataset, ASecondBatchSizeIsAMistake) {
  const Rows rows(50, 4);
  Sequential model = linear_model();
  const Dataset dataset = Dataset::from_tensor_slices(rows.inputs(), Array(rows.y)).batch(16);
  try {
    model.fit(dataset, {.batch_size = 8, .verbose = 0});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("batches of 16"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace snug::testing
