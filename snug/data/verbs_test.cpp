// The verbs of Dataset that make other rows of rows: windows, caches, shuffles for slow disks.

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "snug/data/batch_reader.h"
#include "snug/data/cached.h"
#include "snug/data/dataset.h"
#include "snug/data/sequence_ahead.h"
#include "snug/data/source_testing.h"
#include "snug/testing/memory_files.h"

namespace snug {
namespace {

using testing::expect_within;
using testing::message_of;

std::vector<int32_t> counted(int64_t rows) {
  std::vector<int32_t> values(static_cast<size_t>(rows));
  std::iota(values.begin(), values.end(), 0);
  return values;
}

// All values of the first input over one pass.
std::vector<int32_t> values_of(const Dataset& dataset, uint64_t pass = 0) {
  std::vector<int32_t> values;
  BatchReader reader(dataset, pass);
  while (const Batch* batch = reader.next()) {
    const std::span<int32_t> x = batch->x[0].as<int32_t>();
    values.insert(values.end(), x.begin(), x.end());
  }
  return values;
}

using Values = std::vector<int32_t>;

TEST(Verbs, FromTensorsGivesOneRow) {
  const Values values = counted(6);
  const Dataset one = Dataset::from_tensors({.x = {Array(values)}, .y = {}});
  EXPECT_EQ(one.cardinality(), 1);
  EXPECT_EQ(one.spec().inputs[0].shape.text(), "[rows, 6]");
  EXPECT_EQ(values_of(one.batch(4)), values);
}

TEST(Verbs, EnumerateNumbersTheRows) {
  const Dataset rows = Dataset::range(5).skip(2).enumerate(10);
  EXPECT_EQ(values_of(rows.batch(2)), (Values{10, 11, 12}));
  BatchReader reader(rows.batch(3), 0);
  EXPECT_EQ(reader.next()->x[1].as<int32_t>()[2], 4);
}

TEST(Verbs, UnbatchTakesRowsAgain) {
  EXPECT_EQ(values_of(Dataset::range(10).batch(4, true).unbatch().batch(3)), counted(8));
  EXPECT_EQ(Dataset::range(10).batch(4).unbatch().batch(5).cardinality(), 2);
}

// What tf.data gives for Dataset.range(7).window(3, shift, 1, stride, drop_remainder=True).
TEST(Verbs, Window) {
  const Dataset seven = Dataset::range(7);
  EXPECT_EQ(values_of(seven.window({.size = 3})), (Values{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(values_of(seven.window({.size = 3, .shift = 2})), (Values{0, 1, 2, 2, 3, 4, 4, 5, 6}));
  EXPECT_EQ(values_of(seven.window({.size = 3, .shift = 1, .stride = 2})),
            (Values{0, 2, 4, 1, 3, 5, 2, 4, 6}));
  EXPECT_EQ(seven.window({.size = 3}).spec().inputs[0].shape.text(), "[rows, 3]");
  EXPECT_EQ(values_of(seven.window({.size = 2}).shuffle(3)).size(), 6u);
  expect_within(message_of([&] { seven.window({.size = 8}); }),
                "reaches over 8 rows, but there are 7");
  expect_within(message_of([&] { seven.window({.size = 0}); }), "size is 0");
}

// The examples of Keras's page on timeseries_dataset_from_array.
TEST(Verbs, Timeseries) {
  const Values x = counted(100), y = counted(100);
  const Dataset data = Dataset::from_tensor_slices(Array(x), Array(y));
  const Dataset first =
      data.timeseries({.sequence_length = 10, .sequence_stride = 3, .sampling_rate = 2});
  EXPECT_EQ(first.spec().inputs[0].shape.text(), "[rows, 10]");
  EXPECT_EQ(first.cardinality(), 28);  // Starts 0, 3, ... 81.
  BatchReader reader(first.batch(28), 0);
  const Batch* batch = reader.next();
  const std::span<int32_t> rows = batch->x[0].as<int32_t>(), targets = batch->y[0].as<int32_t>();
  for (int32_t i = 0; i < 28; ++i) {
    EXPECT_EQ(targets[i], 3 * i);
    for (int32_t k = 0; k < 10; ++k) EXPECT_EQ(rows[i * 10 + k], 3 * i + 2 * k);
  }
  const Dataset delayed = data.timeseries(
      {.sequence_length = 5, .start_index = 10, .end_index = 20, .target_delay = 5});
  EXPECT_EQ(delayed.cardinality(), 5);
  BatchReader again(delayed.batch(5), 0);
  EXPECT_EQ(again.next()->y[0].as<int32_t>()[4], 19);
  expect_within(message_of([&] { data.timeseries({.sequence_length = 101}); }), "over 101 rows");
  expect_within(message_of([&] { data.timeseries({.end_index = 101}); }), "rows 0 to 99");
}

// tf.data: Dataset.range(n) ... interleave(lambda x: from_tensors(x).repeat(6), cycle_length=2,
// block_length=4) on 1..5, the example of its documentation.
TEST(Verbs, InterleaveTakesTurns) {
  const Values numbers = {1, 2, 3, 4, 5};
  const auto six = [&](const int32_t& number) {
    return Dataset::from_tensor_slices({.x = {Array(&number, Shape{1})}, .y = {}}).repeat(6);
  };
  EXPECT_EQ(values_of(Dataset::interleave(numbers, six, {.cycle_length = 2, .block_length = 4})),
            (Values{1, 1, 1, 1, 2, 2, 2, 2, 1, 1, 2, 2, 3, 3, 3,
                    3, 4, 4, 4, 4, 3, 3, 4, 4, 5, 5, 5, 5, 5, 5}));
  EXPECT_EQ(values_of(Dataset::flat_map(numbers, six).batch(7)).size(), 30u);
  EXPECT_THROW(Dataset::interleave({}), Error);
}

// Against a walk, row by row, as tf.data's iterator does it.
TEST(Verbs, InterleaveIsWhatAWalkGives) {
  std::mt19937_64 random(5);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<int64_t> sizes(1 + random() % 7);
    for (int64_t& size : sizes) size = static_cast<int64_t>(random() % 40);
    const InterleaveOptions options{.cycle_length = static_cast<int64_t>(1 + random() % 5),
                                    .block_length = static_cast<int64_t>(1 + random() % 6)};
    const InterleavedOrder order(sizes, options);
    std::vector<std::pair<int, int64_t>> walk;
    std::vector<std::pair<int, int64_t>> open(
        static_cast<size_t>(std::min<int64_t>(options.cycle_length, std::ssize(sizes))), {-1, 0});
    int next = 0;
    const auto any = [&] {
      return std::ranges::any_of(open, [](const auto& place) { return place.first >= 0; });
    };
    while (next < std::ssize(sizes) || any()) {
      for (auto& [source, row] : open) {
        if (source < 0 && next < std::ssize(sizes)) {
          source = next++;
          row = 0;
        }
        for (int64_t i = 0; source >= 0 && i < options.block_length; ++i) {
          if (row == sizes[static_cast<size_t>(source)]) {
            source = -1;
          } else {
            walk.emplace_back(source, row++);
          }
        }
      }
    }
    ASSERT_EQ(order.size(), std::ssize(walk));
    for (int64_t i = 0; i < order.size(); ++i) {
      const InterleavedOrder::Place place = order.place(i);
      EXPECT_EQ(std::pair(place.source, place.row), walk[static_cast<size_t>(i)]) << trial;
    }
  }
}

// Counts how often rows are read.
Dataset counting(int64_t rows, std::vector<int>& reads) {
  return Dataset::range(rows).map(
      [&reads](std::span<const Tensor> in, std::span<const Tensor> out) {
        for (size_t i = 0; i < in[0].as<int32_t>().size(); ++i) {
          const int32_t row = in[0].as<int32_t>()[i];
          ++reads[static_cast<size_t>(row)];
          out[0].as<int32_t>()[i] = row;
        }
      },
      {.x = {{}, DType::int32}, .y = {}});
}

TEST(Verbs, CacheKeepsWhatFitsAndReadsTheRest) {
  std::vector<int> reads(100);
  const Dataset cached = counting(100, reads).cache(5 * 30);  // Four bytes and a mark a row.
  for (uint64_t pass = 0; pass < 3; ++pass) {
    Values values = values_of(cached.shuffle(1).batch(9), pass);
    std::ranges::sort(values);
    EXPECT_EQ(values, counted(100));
  }
  for (size_t row = 0; row < 100; ++row) EXPECT_EQ(reads[row], row < 30 ? 1 : 3) << row;
}

TEST(Verbs, CacheHoldsNoMoreThanItSays) {
  const Values values = counted(1000);
  const SourcePtr all = data::cached(data::arrays(Array(values)), 1 << 20);
  const SourcePtr some = data::cached(data::arrays(Array(values)), 1000);
  EXPECT_LE(some->buffer_bytes(), 1000u);
  EXPECT_GE(all->buffer_bytes(), 4000u);
  testing::expect_random_source(*all);
  testing::expect_random_source(*some);
}

TEST(Verbs, CacheInAFileIsMadeOnce) {
  testing::MemoryFiles files;
  std::vector<int> reads(50);
  const auto open = [&](std::string_view key) {
    return data::cached_in_file(counting(50, reads).source(), "cache/rows.bin", key, &files);
  };
  const SourcePtr first = open("a");
  testing::expect_random_source(*first);
  open("a");
  EXPECT_EQ(*std::ranges::max_element(reads), 1);
  open("b");  // Other rows: made again.
  EXPECT_EQ(*std::ranges::min_element(reads), 2);
  const std::unique_ptr<File> file = files.open("cache/rows.bin", OpenMode::update);
  file->truncate(file->size() - 1);
  testing::expect_random_source(*open("b"));
  EXPECT_EQ(*std::ranges::min_element(reads), 3);
}

TEST(Verbs, BlockShuffleGivesEveryRowOnceAnEpoch) {
  std::mt19937_64 random(9);
  for (int trial = 0; trial < 40; ++trial) {
    const auto rows = static_cast<int64_t>(1 + random() % 3000);
    const BlockShuffleOptions options{.seed = random(),
                                      .window_bytes = static_cast<int64_t>(64 + random() % 8000),
                                      .block_bytes = static_cast<int64_t>(4 + random() % 200)};
    const Dataset blocks = Dataset::range(rows).shuffle_blocks(options);
    const Values first = values_of(blocks.batch(17), 0);
    EXPECT_EQ(first, values_of(blocks.batch(5), 0)) << "depends on the batch";
    Values sorted = first;
    std::ranges::sort(sorted);
    EXPECT_EQ(sorted, counted(rows));
    // A restart in the middle.
    const auto done = static_cast<int64_t>(random() % static_cast<uint64_t>(rows + 1));
    Values resumed = values_of(blocks.take(done).batch(3), 0);
    const Values rest = values_of(blocks.skip(done).batch(4), 0);
    resumed.insert(resumed.end(), rest.begin(), rest.end());
    EXPECT_EQ(resumed, first);
    EXPECT_TRUE(rows < 100 || first != values_of(blocks.batch(17), 1));
  }
}

// Windows over all of the rows mix all of them; smaller ones still move rows far.
TEST(Verbs, BlockShuffleReadsBlocks) {
  std::vector<int64_t> sizes;
  const Dataset rows = Dataset::range(4000).map(
      [&](std::span<const Tensor> in, std::span<const Tensor> out) {
        sizes.push_back(in[0].shape()[0]);
        std::ranges::copy(in[0].as<int32_t>(), out[0].as<int32_t>().begin());
      },
      {.x = {{}, DType::int32}, .y = {}});
  const Dataset blocks = rows.shuffle_blocks({.window_bytes = 8000, .block_bytes = 160});
  const Values values = values_of(blocks.batch(50));
  EXPECT_EQ(std::ssize(sizes), 100) << "requests of 40 rows";
  int64_t moved = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    moved += std::abs(values[i] - static_cast<int32_t>(i)) > 400 ? 1 : 0;
  }
  EXPECT_GT(moved, 2500);
}

Dataset sequence(int32_t rows, std::shared_ptr<int32_t> at) {
  return Dataset::from_generator(
      [rows, at](std::span<const Tensor> slots) -> int64_t {
        if (*at == rows) return 0;
        slots[0].as<int32_t>()[0] = (*at)++;
        return 1;
      },
      {.x = {{}, DType::int32}, .y = {}, .restart = [at] { *at = 0; }});
}

// Times in milliseconds, as a feature that the slot has as float32.
TEST(Verbs, StagesThatHoldRowsHoldWholeNumbersBeyondInt32) {
  std::vector<int64_t> times;
  std::vector<float> expected;
  for (int64_t i = 0; i < 40; ++i) {
    times.push_back(1'700'000'000'000 + i * 86'400'000);
    expected.push_back(static_cast<float>(times.back()));
  }
  const SourcePtr rows = data::arrays({.x = {Array(times)}});
  testing::MemoryFiles files;
  for (const SourcePtr& stage :
       {data::block_shuffled(rows, {.window_bytes = 64, .block_bytes = 8}),
        data::window_shuffled(rows, {.bytes = 64}), data::cached_in_file(rows, "c", "", &files),
        data::made_ahead(data::window_shuffled(rows, {.bytes = 64}),
                         {.batches = 1, .batch_rows = 4})}) {
    stage->begin_pass(0);
    std::vector<float> read = testing::rest_of(*stage, 0, 4);
    std::ranges::sort(read);
    EXPECT_EQ(read, expected);
  }
}

TEST(Verbs, MapAndFilterSeeWholeNumbersBeyondInt32) {
  const std::vector<int64_t> times = {1'700'000'000'001, 1'700'000'000'002, -4'000'000'000, 7};
  const std::vector<uint32_t> ids = {4'000'000'001, 5, 6, 7};
  const Dataset rows = Dataset::from_tensor_slices({.x = {Array(times), Array(ids)}});
  // What is left of them fits a batch.
  const Dataset small = rows.map(
      [](std::span<const Tensor> in, std::span<const Tensor> out) {
        for (size_t i = 0; i < in[0].as<int64_t>().size(); ++i) {
          out[0].as<int64_t>()[i] = in[0].as<int64_t>()[i] % 1000;
          out[1].as<int64_t>()[i] = in[1].as<int64_t>()[i];
        }
      },
      {.x = {{{}, DType::int64}, {{}, DType::int64}}});
  const Dataset odd =
      small.filter([](std::span<const Tensor> row) { return row[1].as<int64_t>()[0] % 2 == 1; });
  const Dataset late = rows.filter([](std::span<const Tensor> row) {
    return row[0].as<int64_t>()[0] == 1'700'000'000'002 || row[0].as<int64_t>()[0] == 7;
  });
  EXPECT_EQ(testing::rest_of(*odd.source(), 0, 4), (std::vector<float>{1, 2, 7}));
  EXPECT_EQ(testing::rest_of(*late.source(), 1, 4), (std::vector<float>{5, 7}));
}

TEST(Verbs, WindowShuffleOfASequence) {
  const Dataset rows = sequence(500, std::make_shared<int32_t>(0));
  expect_within(message_of([&] { rows.shuffle(); }), "shuffle_window()");
  const Dataset shuffled = rows.shuffle_window({.bytes = 4 * 100, .seed = 3});
  const Values first = values_of(shuffled.batch(7), 0);
  EXPECT_EQ(first, values_of(shuffled.batch(7), 0));
  EXPECT_NE(first, values_of(shuffled.batch(7), 1));
  Values sorted = first;
  std::ranges::sort(sorted);
  EXPECT_EQ(sorted, counted(500));
  for (size_t i = 0; i < first.size(); ++i) {
    EXPECT_LT(first[i], static_cast<int32_t>(i) + 100) << "a row that had not been read yet";
  }
  const Dataset same =
      rows.shuffle_window({.bytes = 400, .seed = 3, .reshuffle_each_iteration = false});
  EXPECT_EQ(values_of(same.batch(7), 0), values_of(same.batch(7), 1));
  EXPECT_LE(shuffled.source()->buffer_bytes(), rows.source()->buffer_bytes() + 100 * (4 + 8));
}

TEST(Verbs, EveryRepetitionIsShuffledAnew) {
  const Dataset rows = sequence(100, std::make_shared<int32_t>(0));
  const Dataset shuffled = rows.shuffle_window({.bytes = 4 * 100, .seed = 3});
  std::set<Values> orders;
  for (const uint64_t pass : {0, 1}) {
    const Values twice = values_of(shuffled.repeat(2).batch(10), pass);
    ASSERT_EQ(twice.size(), 200u);
    orders.insert(
        {Values(twice.begin(), twice.begin() + 100), Values(twice.begin() + 100, twice.end())});
    EXPECT_EQ(twice, values_of(shuffled.repeat(2).batch(10), pass));
    EXPECT_EQ(values_of(shuffled.repeat().take(200).batch(10), pass).size(), 200u);
  }
  EXPECT_EQ(orders.size(), 4u);
  Values first = *orders.begin();
  std::ranges::sort(first);
  EXPECT_EQ(first, counted(100)) << "all of them";
  const Dataset same =
      rows.shuffle_window({.bytes = 400, .seed = 3, .reshuffle_each_iteration = false}).repeat(2);
  const Values twice = values_of(same.batch(10), 0);
  EXPECT_TRUE(std::equal(twice.begin(), twice.begin() + 100, twice.begin() + 100));
}

// A row keeps its number only where the order stays: else other rows would come in the next pass.
TEST(Verbs, WhatRemembersRowsStandsBehindAShuffle) {
  const Dataset rows = Dataset::range(100);
  const auto odd = [](std::span<const Tensor> row) { return row[0].as<int32_t>()[0] % 2 == 1; };
  Values odds;
  for (int32_t i = 1; i < 100; i += 2) odds.push_back(i);
  struct Chain {
    Dataset dataset;
    Values wanted;
    bool reshuffles;
  };
  const Values all = counted(100);
  const std::vector<Chain> chains = {
      {rows.shuffle(1).filter(odd), odds, true},
      {rows.shuffle(1).cache(200), all, true},
      {rows.skip(0).shuffle(1).filter(odd), odds, false},
      {rows.shuffle(1).skip(0).cache(200), all, false},
      {rows.shuffle_blocks({.window_bytes = 200, .block_bytes = 20}).filter(odd), odds, false},
      {rows.shuffle_blocks({.window_bytes = 200, .block_bytes = 20}).cache(200), all, false},
      {rows.shuffle(1).concatenate(rows).take(100).filter(odd), odds, false}};
  for (size_t i = 0; i < chains.size(); ++i) {
    SCOPED_TRACE(i);
    const Dataset batches = chains[i].dataset.batch(7);
    const Values first = values_of(batches, 0), second = values_of(batches, 1);
    EXPECT_EQ(first != second, chains[i].reshuffles);
    for (Values order : {first, second}) {
      std::ranges::sort(order);
      EXPECT_EQ(order, chains[i].wanted);
    }
  }
}

TEST(Verbs, PrefetchSaysHowManyBatchesAreReadAhead) {
  const Dataset rows = Dataset::range(10);
  EXPECT_EQ(rows.batch(2).prefetch(3).source()->batches_ahead(), 3);
  EXPECT_EQ(rows.batch(2).prefetch().source()->batches_ahead(), 0);
  EXPECT_EQ(values_of(rows.batch(3).prefetch(2)), counted(10));
  EXPECT_THROW(rows.prefetch(-2), Error);
}

// The same rows on any number of threads, of each kind of source that has twins.
TEST(Verbs, TheSameOnAnyNumberOfThreads) {
  const Values x = counted(3000);
  const Dataset rows = Dataset::from_tensor_slices({.x = {Array(x)}, .y = {}});
  const auto twice = [](std::span<const Tensor> in, std::span<const Tensor> out) {
    for (size_t i = 0; i < in[0].as<int32_t>().size(); ++i)
      out[0].as<int32_t>()[i] = 2 * in[0].as<int32_t>()[i];
  };
  const MapSpec spec{.x = {{}, DType::int32}, .y = {}, .num_parallel_calls = 4};
  const auto odd = [](std::span<const Tensor> row) { return row[0].as<int32_t>()[0] % 2 == 1; };
  const std::vector<Dataset> chains = {
      rows.shuffle(1),
      rows.map(twice, spec).shuffle(2),
      rows.filter(odd).shuffle(3).shard(3, 1),
      rows.concatenate(rows).shuffle(4),
      rows.enumerate().shuffle(5),
      rows.window({.size = 4, .shift = 1}).shuffle(6),
      rows.cache(6000).shuffle(7),
      rows.shuffle_blocks({.window_bytes = 2000, .block_bytes = 100}),
      Dataset::interleave({rows, rows.skip(7)}, {.cycle_length = 2}).shuffle(8)};
  for (const Dataset& chain : chains) {
    const auto on = [&](int64_t ahead, int threads) {
      Values values;
      BatchReader reader(chain.batch(64).prefetch(ahead), 1, threads);
      while (const Batch* batch = reader.next()) {
        const std::span<int32_t> some = batch->x[0].as<int32_t>();
        values.insert(values.end(), some.begin(), some.end());
      }
      return values;
    };
    const Values alone = on(0, 1);
    EXPECT_GE(alone.size(), 500u);
    for (const int threads : {1, 2, 4}) EXPECT_EQ(on(2, threads), alone);
  }
}

}  // namespace
}  // namespace snug
