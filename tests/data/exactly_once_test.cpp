// Every row comes exactly once an epoch, in an order that depends on seed and epoch only.

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "snug/data/batch_reader.h"
#include "snug/data/checked.h"
#include "snug/data/dataset.h"
#include "snug/data/npy.h"
#include "snug/data/npy_writer.h"
#include "snug/data/permutation.h"
#include "snug/testing/memory_files.h"

namespace snug {
namespace {

std::vector<int32_t> numbers(int64_t rows) {
  std::vector<int32_t> values(static_cast<size_t>(rows));
  std::iota(values.begin(), values.end(), 0);
  return values;
}

std::vector<int32_t> rows_of(const Dataset& dataset, uint64_t pass) {
  std::vector<int32_t> rows;
  BatchReader reader(dataset, pass);
  while (const Batch* batch = reader.next()) {
    const std::span<int32_t> values = batch->x[0].as<int32_t>();
    rows.insert(rows.end(), values.begin(), values.end());
  }
  return rows;
}

TEST(ExactlyOnce, ForAnySizeBatchAndShard) {
  std::mt19937_64 random(3);
  for (int trial = 0; trial < 60; ++trial) {
    const auto rows = static_cast<int64_t>(1 + random() % 700);
    const auto batch = static_cast<int64_t>(1 + random() % 90);
    const auto shards = static_cast<int64_t>(1 + random() % 5);
    const uint64_t seed = random(), pass = random() % 4;
    const std::vector<int32_t> values = numbers(rows);
    const Dataset all = Dataset::from_tensor_slices({.x = {Array(values)}, .y = {}}).shuffle(seed);
    const std::vector<int32_t> whole = rows_of(all.batch(batch), pass);
    EXPECT_EQ(whole, rows_of(all.batch(1 + batch % 7), pass)) << "the batch changes the order";
    std::vector<int32_t> together;
    for (int64_t shard = 0; shard < shards; ++shard) {
      const std::vector<int32_t> part = rows_of(all.shard(shards, shard).batch(batch), pass);
      for (size_t i = 0; i < part.size(); ++i) {
        EXPECT_EQ(part[i], whole[i * static_cast<size_t>(shards) + static_cast<size_t>(shard)]);
      }
      together.insert(together.end(), part.begin(), part.end());
    }
    // A restart in the middle goes on with the rows that had not come.
    const auto done = static_cast<int64_t>(random() % static_cast<uint64_t>(rows + 1));
    std::vector<int32_t> resumed = rows_of(all.take(done).batch(batch), pass);
    const std::vector<int32_t> rest = rows_of(all.skip(done).batch(batch), pass);
    resumed.insert(resumed.end(), rest.begin(), rest.end());
    EXPECT_EQ(resumed, whole);
    for (std::vector<int32_t>* order : {&together, &resumed}) {
      std::ranges::sort(*order);
      EXPECT_EQ(*order, values);
    }
  }
}

TEST(ExactlyOnce, EpochsDiffer) {
  const std::vector<int32_t> values = numbers(500);
  const Dataset all = Dataset::from_tensor_slices({.x = {Array(values)}, .y = {}});
  EXPECT_NE(rows_of(all.shuffle(1).batch(10), 0), rows_of(all.shuffle(1).batch(10), 1));
  EXPECT_NE(rows_of(all.shuffle(1).batch(10), 0), rows_of(all.shuffle(2).batch(10), 0));
  EXPECT_EQ(rows_of(all.shuffle(1, false).batch(10), 0),
            rows_of(all.shuffle(1, false).batch(10), 1));
}

// How many standard deviations a chi-square statistic is from its mean; it is almost normal for so
// many degrees of freedom.
double deviations(double statistic, double degrees) {
  return (statistic - degrees) / std::sqrt(2 * degrees);
}

// Where each row lands, over many epochs; and by how much neighbours differ.
TEST(ExactlyOnce, ThePermutationIsUniform) {
  for (const int64_t size : {17, 64, 101}) {
    const int64_t epochs = 400 * size;
    std::vector<double> places(static_cast<size_t>(size * size));
    std::vector<double> pairs(static_cast<size_t>(size * size));
    for (int64_t epoch = 0; epoch < epochs; ++epoch) {
      const Permutation order(size, 11, static_cast<uint64_t>(epoch));
      int64_t before = -1;
      for (int64_t position = 0; position < size; ++position) {
        const int64_t row = order(position);
        ++places[static_cast<size_t>(position * size + row)];
        if (before >= 0) ++pairs[static_cast<size_t>(before * size + row)];
        before = row;
      }
    }
    const auto statistic = [&](const std::vector<double>& counts, double expected, bool diagonal) {
      double sum = 0;
      for (int64_t i = 0; i < size * size; ++i) {
        if (!diagonal && i / size == i % size) continue;
        const double difference = counts[static_cast<size_t>(i)] - expected;
        sum += difference * difference / expected;
      }
      return sum;
    };
    const auto n = static_cast<double>(size);
    const auto e = static_cast<double>(epochs);
    // Each count is of e yes-or-no draws with the chance 1 / n; the rows and columns of the first
    // table have fixed sums.
    const double degrees = (n - 1) * (n - 1);
    const double place = statistic(places, e / n, true) * (n - 1) / n;
    EXPECT_LT(std::abs(deviations(place, degrees)), 4) << size << ": places";
    const double pair = statistic(pairs, e / n, false);
    EXPECT_LT(std::abs(deviations(pair, degrees)), 4) << size << ": neighbours";
  }
}

// 50,000,000 rows: no memory, any position at once.
TEST(ExactlyOnce, AShuffleOfManyRowsHoldsNothing) {
  static_assert(sizeof(Permutation) < 128);
  const int64_t size = 50'000'000;
  const Permutation order(size, 5, 0);
  std::vector<bool> seen(static_cast<size_t>(size));
  for (int64_t position = 0; position < size; position += 997) {
    const int64_t row = order(position);
    ASSERT_GE(row, 0);
    ASSERT_LT(row, size);
    EXPECT_FALSE(seen[static_cast<size_t>(row)]);
    seen[static_cast<size_t>(row)] = true;
  }
}

// From a file, on any number of threads, with any number of batches read ahead.
TEST(ExactlyOnce, FromFilesOnAnyThreads) {
  std::mt19937_64 random(7);
  testing::MemoryFiles files;
  for (int trial = 0; trial < 12; ++trial) {
    const auto rows = static_cast<int64_t>(1 + random() % 4000);
    const auto batch = static_cast<int64_t>(1 + random() % 300);
    const auto shards = static_cast<int64_t>(1 + random() % 3);
    NpyWriter writer(files, "x.npy", Shape{});
    for (int64_t row = 0; row < rows; ++row) {
      const auto number = static_cast<float>(row);
      writer.append({&number, 1});
    }
    writer.finish();
    const Dataset all =
        Dataset(data::npy({.x = {"x.npy"}, .y = {}, .files = &files})).shuffle(random());
    const auto read = [&](const Dataset& dataset, int threads) {
      std::vector<int64_t> numbers;
      BatchReader reader(dataset, 3, threads);
      while (const Batch* next = reader.next()) {
        const std::span<float> values = next->x[0].as<float>();
        numbers.insert(numbers.end(), values.begin(), values.end());
      }
      return numbers;
    };
    const std::vector<int64_t> whole = read(all.batch(batch).prefetch(0), 1);
    for (const int threads : {1, 2, 5}) {
      EXPECT_EQ(read(all.batch(batch), threads), whole);
      EXPECT_EQ(read(all.batch(batch).prefetch(3), threads), whole);
    }
    std::vector<int64_t> together;
    for (int64_t shard = 0; shard < shards; ++shard) {
      const std::vector<int64_t> part = read(all.shard(shards, shard).batch(batch), 2);
      together.insert(together.end(), part.begin(), part.end());
    }
    std::ranges::sort(together);
    for (int64_t row = 0; row < rows; ++row) {
      ASSERT_EQ(together[static_cast<size_t>(row)], row);
    }
  }
}

}  // namespace
}  // namespace snug
