#include "snug/data/buckets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "snug/data/batch_reader.h"
#include "snug/data/dataset.h"
#include "snug/data/source_testing.h"

namespace snug::testing {
namespace {

// Rows of random lengths: row i holds i + 1 in each of its steps; its target is its number.
struct Sequences {
  Sequences(int64_t rows, int64_t longest, uint32_t seed) : longest(longest) {
    std::mt19937 random(seed);
    for (int64_t row = 0; row < rows; ++row) {
      lengths.push_back(static_cast<int64_t>(random() % static_cast<uint32_t>(longest + 1)));
      values.insert(values.end(), static_cast<size_t>(lengths.back()),
                    static_cast<int32_t>(row + 1));
      splits.push_back(std::ssize(values));
      numbers.push_back(static_cast<int32_t>(row));
    }
  }
  Dataset dataset() const {
    return Dataset::from_ragged({.values = Array(values), .row_splits = splits, .longest = longest},
                                Array(numbers));
  }

  int64_t longest;
  std::vector<int32_t> values, numbers;
  std::vector<int64_t> splits = {0}, lengths;
};

// The rows of a batch are what they were, as long as the batch is.
void expect_rows(const Sequences& all, const Batch& batch) {
  ASSERT_EQ(batch.x[0].type.shape.rank(), 2);
  const int64_t steps = batch.x[0].type.shape[1];
  const std::span<int32_t> x = batch.x[0].as<int32_t>();
  for (int64_t i = 0; i < batch.rows; ++i) {
    const int32_t number = batch.y[0].as<int32_t>()[i];
    const int64_t length = all.lengths[number];
    ASSERT_LE(length, steps);
    for (int64_t step = 0; step < steps; ++step)
      ASSERT_EQ(x[i * steps + step], step < length ? number + 1 : 0) << number;
  }
}

TEST(PaddedBatch, HasTheStepsOfItsLongestRow) {
  const Sequences all(103, 12, 5);
  for (const int64_t size : {1, 4, 32, 200}) {
    int64_t rows = 0;
    for (const Batch& batch : all.dataset().shuffle(3).padded_batch(size)) {
      expect_rows(all, batch);
      int64_t longest = 1;
      for (const int32_t number : batch.y[0].as<int32_t>())
        longest = std::max(longest, all.lengths[number]);
      EXPECT_EQ(batch.x[0].type.shape[1], longest);
      rows += batch.rows;
    }
    EXPECT_EQ(rows, 103);
  }
  EXPECT_EQ(all.dataset().padded_batch(4).spec().inputs[0].shape.text(), "[rows, 12]");
  EXPECT_EQ(all.dataset().padded_batch(4).source()->fields()[0].row, (Shape{12})) << "for fit";
  EXPECT_EQ(all.dataset().padded_batch(10, /*drop_remainder=*/true).cardinality(), 10);
}

TEST(PaddedBatch, CutsWhatHasStepsAndNothingElse) {
  // Two rows of three steps of two numbers; a label a step; a target that is no sequence.
  const std::vector<float> x = {1, 2, 0, 5, 0, 0, 3, 4, 0, 0, 0, 0};
  const std::vector<float> steps = {1, 2, 3, 4, 5, 6};
  const Dataset rows = Dataset::from_tensor_slices(
      {.x = {Array(x.data(), {2, 3, 2})}, .y = {Array(steps.data(), {2, 3})}});
  BatchReader plain(rows.padded_batch(2), 0);
  const Batch* batch = plain.next();
  EXPECT_EQ(batch->x[0].type.shape.text(), "[2, 2, 2]");
  EXPECT_EQ(batch->y[0].type.shape.text(), "[2, 3]");
  BatchReader labelled(rows.padded_batch(2, false, {.of_targets = true}), 0);
  batch = labelled.next();
  EXPECT_EQ(batch->y[0].type.shape.text(), "[2, 2]");
  const std::span<float> labels = batch->y[0].as<float>();
  EXPECT_EQ(std::vector(labels.begin(), labels.end()), (std::vector<float>{1, 2, 4, 5}));
  const auto always_one = [](std::span<const Tensor>) { return 1; };
  BatchReader told(rows.padded_batch(2, false, {.length = always_one}), 0);
  EXPECT_EQ(told.next()->x[0].type.shape.text(), "[2, 1, 2]");
  const auto too_long = [](std::span<const Tensor>) { return 4; };
  BatchReader wrong(rows.padded_batch(2, false, {.length = too_long}), 0);
  expect_within(message_of([&] { wrong.next(); }), "from 0 to 3");
}

// Every row once a pass, in batches of rows of its bucket, in an order by (seed, pass) alone.
TEST(Buckets, EveryRowOnceAPassWithOthersOfItsLength) {
  std::mt19937 random(11);
  for (int trial = 0; trial < 30; ++trial) {
    const Sequences all(1 + random() % 300, 2 + random() % 20, trial);
    BucketOptions options{.batch_size = 1 + static_cast<int64_t>(random() % 40),
                          .seed = random() % 5};
    for (int64_t length = 1 + static_cast<int64_t>(random() % 5); length < all.longest;
         length += 1 + static_cast<int64_t>(random() % 9))
      options.lengths.push_back(length);
    const Dataset dataset = all.dataset().bucket_by_sequence_length(options);
    std::map<uint64_t, std::vector<int32_t>> orders;
    for (const uint64_t pass : {0, 1, 1}) {
      std::vector<int32_t> order;
      int64_t batches = 0;
      BatchReader reader(dataset, pass);
      while (const Batch* batch = reader.next()) {
        expect_rows(all, *batch);
        const int64_t steps = batch->x[0].type.shape[1];
        for (const int32_t number : batch->y[0].as<int32_t>()) {
          order.push_back(number);
          const auto least = std::ranges::lower_bound(options.lengths, all.lengths[number]);
          ASSERT_EQ(steps, least == options.lengths.end() ? all.longest : *least);
        }
        ++batches;
      }
      EXPECT_EQ(batches, dataset.cardinality());
      std::vector<int32_t> sorted = order;
      std::ranges::sort(sorted);
      EXPECT_EQ(sorted, all.numbers);
      if (orders.contains(pass)) {
        EXPECT_EQ(order, orders[pass]);
      }
      orders[pass] = order;
    }
    if (all.numbers.size() > 20) {
      EXPECT_NE(orders[0], orders[1]);
    }
  }
}

TEST(Buckets, SpecsAndSizesOfEach) {
  const Sequences all(100, 8, 1);
  const Dataset dataset = all.dataset().shuffle(7).bucket_by_sequence_length(
      {.lengths = {2, 5}, .batch_sizes = {16, 8, 4}, .drop_remainder = true});
  const std::vector<BatchSpec> specs = dataset.specs();
  ASSERT_EQ(specs.size(), 3u);
  EXPECT_EQ(specs[1].inputs[0].shape.text(), "[rows, 5]");
  EXPECT_EQ(specs[1].targets[0].shape.text(), "[rows]");
  EXPECT_EQ(specs[1].batch_size, 8);
  std::map<int64_t, int64_t> rows_of;
  for (const Batch& batch : dataset) {
    rows_of[batch.x[0].type.shape[1]] = batch.rows;
    EXPECT_TRUE(batch.rows == 16 || batch.rows == 8 || batch.rows == 4);
  }
  EXPECT_EQ(rows_of, (std::map<int64_t, int64_t>{{2, 16}, {5, 8}, {8, 4}}));
  int64_t some = 0;
  for (const Batch& batch : dataset.skip(1).take(3)) some += batch.rows > 0 ? 1 : 0;
  EXPECT_EQ(some, 3);
  EXPECT_EQ(dataset.repeat(2).cardinality(), 2 * *dataset.cardinality());
}

TEST(Buckets, NamesWhatIsWrong) {
  const Sequences all(10, 8, 1);
  const auto refusal = [&](const BucketOptions& options) {
    return message_of([&] { all.dataset().bucket_by_sequence_length(options); });
  };
  expect_within(refusal({.lengths = {4, 4}}), "the length 4 does not rise");
  expect_within(refusal({.lengths = {9}}), "from 1 to 8");
  expect_within(refusal({.lengths = {4}, .batch_sizes = {3}}), "1 batch sizes were given for 2");
  expect_within(refusal({.batch_size = 0}), "at least one row");
  expect_within(message_of([] { Dataset::range(4).padded_batch(2); }), "a single number");
}

}  // namespace
}  // namespace snug::testing
