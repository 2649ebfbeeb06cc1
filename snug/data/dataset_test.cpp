#include "snug/data/dataset.h"

#include <algorithm>
#include <map>

#include "snug/data/source_testing.h"

namespace snug {
namespace {

using testing::expect_within;
using testing::message_of;
using testing::read_rows;
using testing::rest_of;

using Batches = std::vector<std::vector<int>>;

// The rows of each batch of one pass, by their first x; at most `most` batches.
Batches batches_of(const Dataset& dataset, int most = 1000) {
  Batches batches;
  for (const Batch& batch : dataset) {
    std::vector<int> rows;
    for (const float x : batch.x[0].as<float>()) rows.push_back(static_cast<int>(x));
    EXPECT_EQ(std::ssize(rows), batch.rows);
    batches.push_back(rows);
    if (std::ssize(batches) == most) break;
  }
  return batches;
}

std::vector<int> flat(const Batches& batches) {
  std::vector<int> rows;
  for (const auto& batch : batches) rows.insert(rows.end(), batch.begin(), batch.end());
  return rows;
}

std::vector<int> sorted(std::vector<int> rows) {
  std::ranges::sort(rows);
  return rows;
}

// The rows 0, 1, ... as an array and as generators: all verbs but shuffle give the same.
class DatasetTest : public ::testing::Test {
 protected:
  Dataset array(int64_t rows) {
    std::vector<float>& values = arrays_[rows];
    for (int64_t i = std::ssize(values); i < rows; ++i) values.push_back(static_cast<float>(i));
    return Dataset(data::arrays(Array(values)));
  }
  Dataset generator(int64_t rows, bool restarts = true) {
    const auto position = std::make_shared<int64_t>(0);
    GeneratorSpec spec{.x = Shape{}};
    if (restarts) spec.restart = [position] { *position = 0; };
    return Dataset::from_generator(
        [=](std::span<const Tensor> slots) {
          if (*position == rows) return int64_t{0};
          slots[0].as<float>()[0] = static_cast<float>((*position)++);
          return int64_t{1};
        },
        spec);
  }

  std::map<int64_t, std::vector<float>> arrays_;
};

TEST_F(DatasetTest, AppliesVerbsAsTensorFlowDoes) {
  const Batches whole = {{0, 1, 2}, {3, 4, 5}, {6}};
  for (const Dataset& seven : {array(7), generator(7)}) {
    for (int pass = 0; pass < 2; ++pass) {
      EXPECT_EQ(batches_of(seven.batch(3)), whole);
      EXPECT_EQ(batches_of(seven.batch(3).prefetch(2)), whole);
      EXPECT_EQ(batches_of(seven.batch(3, true)), (Batches{{0, 1, 2}, {3, 4, 5}}));
      EXPECT_EQ(batches_of(seven.take(4).batch(3)), (Batches{{0, 1, 2}, {3}}));
      EXPECT_EQ(batches_of(seven.batch(3).take(1)), (Batches{{0, 1, 2}}));
      EXPECT_EQ(batches_of(seven.batch(3).take(9)), whole);
      EXPECT_EQ(batches_of(seven.batch(3).take(-1)), whole);
      EXPECT_EQ(batches_of(seven.skip(5).batch(3)), (Batches{{5, 6}}));
      EXPECT_EQ(batches_of(seven.batch(3).skip(1)), (Batches{{3, 4, 5}, {6}}));
      EXPECT_EQ(batches_of(seven.skip(1).take(3).skip(1)), (Batches{{2}, {3}}));
      EXPECT_EQ(batches_of(seven.take(0).batch(3)), Batches{});
    }
  }
}

TEST_F(DatasetTest, Repeats) {
  for (const Dataset& four : {array(4), generator(4)}) {
    EXPECT_EQ(batches_of(four.repeat(2).batch(3)), (Batches{{0, 1, 2}, {3, 0, 1}, {2, 3}}));
    EXPECT_EQ(batches_of(four.batch(3).repeat(2)), (Batches{{0, 1, 2}, {3}, {0, 1, 2}, {3}}));
    EXPECT_EQ(batches_of(four.batch(3, true).repeat(2)), (Batches{{0, 1, 2}, {0, 1, 2}}));
    EXPECT_EQ(batches_of(four.take(1).repeat(3).batch(2)), (Batches{{0, 0}, {0}}));
    EXPECT_EQ(batches_of(four.skip(3).repeat(2)), (Batches{{3}, {3}}));
    EXPECT_EQ(batches_of(four.repeat(0).batch(2)), Batches{});
    EXPECT_EQ(batches_of(four.batch(3).repeat(0)), Batches{});
    EXPECT_EQ(batches_of(four.repeat().batch(3), 3), (Batches{{0, 1, 2}, {3, 0, 1}, {2, 3, 0}}));
    EXPECT_EQ(batches_of(four.batch(3).repeat(), 3), (Batches{{0, 1, 2}, {3}, {0, 1, 2}}));
    EXPECT_EQ(batches_of(four.batch(3).repeat().skip(1).take(3)), (Batches{{3}, {0, 1, 2}, {3}}));
    EXPECT_EQ(batches_of(four.batch(3).repeat().take(3).skip(1)), (Batches{{3}, {0, 1, 2}}));
    EXPECT_EQ(batches_of(four.batch(3).repeat(2).repeat(2)).size(), 8);
    EXPECT_EQ(batches_of(four.take(0).repeat().batch(2)), Batches{});
    EXPECT_EQ(batches_of(four.take(0).batch(2).repeat()), Batches{});
  }
}

TEST_F(DatasetTest, ShufflesAnewInEachPass) {
  const Dataset shuffled = array(100).shuffle(3).batch(32);
  const std::vector<int> first = flat(batches_of(shuffled)), second = flat(batches_of(shuffled));
  EXPECT_NE(first, second);
  EXPECT_EQ(sorted(first), sorted(second));
  EXPECT_EQ(sorted(first), flat(batches_of(array(100))));
  // Another take of the same Dataset is another pass of it.
  EXPECT_NE(batches_of(shuffled.take(2)), batches_of(shuffled.take(2)));
  EXPECT_EQ(first, flat(batches_of(array(100).shuffle(3).batch(7)))) << "the same seed and pass";
  const Dataset fixed = array(100).shuffle(3, false).batch(32);
  EXPECT_EQ(batches_of(fixed), batches_of(fixed));
  const std::vector<int> twice = flat(batches_of(array(50).shuffle(3).batch(50).repeat(2)));
  EXPECT_FALSE(std::equal(twice.begin(), twice.begin() + 50, twice.begin() + 50));
}

TEST_F(DatasetTest, GoesOnWithASourceThatCannotStartAgain) {
  const Dataset stream = generator(10, false).batch(2);
  EXPECT_EQ(batches_of(stream.take(2)), (Batches{{0, 1}, {2, 3}}));
  EXPECT_EQ(batches_of(stream.take(2)), (Batches{{4, 5}, {6, 7}}));
  EXPECT_EQ(batches_of(stream), (Batches{{8, 9}}));
  EXPECT_EQ(batches_of(stream), Batches{});
  expect_within(message_of([&] { stream.repeat(); }), "cannot start again; give the generator's");
}

TEST_F(DatasetTest, GivesAllFieldsInTheirTypes) {
  const std::vector<uint8_t> images(24, 200), labels = {0, 1, 2, 3, 4, 5};
  const std::vector<double> weights(6, 0.5);
  const Dataset dataset = Dataset::from_tensor_slices({.x = {Array(images.data(), {6, 2, 2})},
                                                       .y = {Array(labels)},
                                                       .sample_weight = Array(weights)})
                              .batch(4);
  int64_t rows = 0;
  for (const Batch& batch : dataset) {
    EXPECT_EQ(batch.x[0].type, (Type{DType::float32, {batch.rows, 2, 2}}));
    EXPECT_EQ(batch.y[0].as<int32_t>()[0], rows);
    EXPECT_EQ(batch.x[0].as<float>().back(), 200);
    EXPECT_EQ(batch.sample_weight.as<float>()[0], 0.5f);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(batch.y[0].data) % 64, 0);
    rows += batch.rows;
  }
  EXPECT_EQ(rows, 6);
  const BatchSpec spec = dataset.spec();
  EXPECT_EQ(spec.inputs, (Types{{DType::float32, {kRows, 2, 2}}}));
  EXPECT_EQ(spec.targets, (Types{{DType::int32, {kRows}}}));
  EXPECT_EQ(spec.batch_size, 4);
}

TEST_F(DatasetTest, ChoosesTypesByRole) {
  const auto chosen = [](StoredType stored, FieldRole role) {
    return batch_dtype({.role = role, .stored = stored});
  };
  EXPECT_EQ(chosen(StoredType::float64, FieldRole::target), DType::float32);
  EXPECT_EQ(chosen(StoredType::uint8, FieldRole::input), DType::float32);
  EXPECT_EQ(chosen(StoredType::uint8, FieldRole::target), DType::int32);
  EXPECT_EQ(chosen(StoredType::int64, FieldRole::input), DType::int32);
  EXPECT_EQ(chosen(StoredType::int64, FieldRole::weight), DType::float32);
  EXPECT_EQ(chosen(StoredType::boolean, FieldRole::target), DType::int32);
}

TEST_F(DatasetTest, KnowsItsCardinality) {
  const Dataset seven = array(7);
  EXPECT_EQ(seven.cardinality(), 7);
  EXPECT_EQ(seven.batch(3).cardinality(), 3);
  EXPECT_EQ(seven.batch(3, true).cardinality(), 2);
  EXPECT_EQ(seven.repeat(2).batch(3).cardinality(), 5);
  EXPECT_EQ(seven.batch(3).repeat(2).cardinality(), 6);
  EXPECT_EQ(seven.batch(3).repeat(2).skip(1).take(4).cardinality(), 4);
  EXPECT_EQ(seven.batch(3).repeat().cardinality(), std::nullopt);
  EXPECT_EQ(seven.batch(3).repeat().take(9).cardinality(), 9);
  EXPECT_EQ(seven.take(0).batch(3).repeat().cardinality(), 0);
  EXPECT_EQ(seven.repeat().cardinality(), std::nullopt);
  EXPECT_EQ(generator(7).batch(3).cardinality(), std::nullopt);
}

TEST_F(DatasetTest, NamesABadRowByItsNumberInTheSource) {
  std::vector<float> values(20, 1.0f);
  values[13] = std::numeric_limits<float>::infinity();
  const Dataset dataset =
      Dataset(data::arrays(Array(values))).shuffle(5).skip(3).repeat(2).batch(4);
  expect_within(message_of<DataError>([&] {
                  for (const Batch& batch : dataset) EXPECT_LE(batch.rows, 4);
                }),
                "x: row 13 is inf");
}

TEST_F(DatasetTest, RefusesWhatItCannotDo) {
  expect_within(message_of([&] { array(4).batch(0); }), "batch(0)");
  expect_within(message_of([&] { array(4).batch(2).batch(2); }), "batch once");
  expect_within(message_of([&] { array(4).batch(2).shuffle(); }), "put shuffle before batch");
  expect_within(message_of([&] { generator(4).shuffle(); }), "come in sequence");
  expect_within(message_of([&] { array(4).take(-3); }), "take(-3)");
  expect_within(message_of([&] { generator(4).skip(-3); }), "skip(-3)");
  expect_within(message_of([&] { array(4).batch(2).repeat(-3); }), "repeat(-3)");
  expect_within(message_of([&] { array(4).batch(2).repeat().take(2).repeat(); }), "repeat once");
}

// What fit gets: the same rows as iteration, in the order of the pass.
TEST_F(DatasetTest, IsASourceForFit) {
  const Dataset dataset = array(20).shuffle(3).skip(2).take(10).batch(4);
  const SourcePtr source = dataset.source();
  EXPECT_EQ(source->access(), Access::random);
  EXPECT_EQ(source->rows(), 10);
  for (int pass = 0; pass < 2; ++pass) {
    const std::vector<int> expected = flat(batches_of(dataset));
    source->begin_pass(pass);
    const std::vector<float> rows = read_rows(*source, 0, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
    EXPECT_TRUE(std::ranges::equal(rows, expected));
    EXPECT_TRUE(std::ranges::equal(rest_of(*source, 0, 3), expected));
  }
  EXPECT_EQ(source->borrow(0, 0, 1, DType::float32), nullptr);
  const SourcePtr stretch = array(30).skip(5).take(7).source();
  EXPECT_EQ(stretch->borrow(0, 1, 6, DType::float32), arrays_[30].data() + 6);
  EXPECT_EQ(stretch->borrow(0, 1, 7, DType::float32), nullptr);
  EXPECT_EQ(array(6).repeat().source()->access(), Access::replay);
}

TEST_F(DatasetTest, IsASourceAfterRepeatedBatches) {
  const Dataset eight = array(8).batch(4);
  EXPECT_EQ(eight.repeat(3).source()->rows(), 24);
  EXPECT_EQ(eight.repeat(3).skip(1).take(2).source()->rows(), 8);
  EXPECT_EQ(read_rows(*eight.repeat(3).skip(1).source(), 0, {3, 4}), (std::vector<float>{7, 0}));
  EXPECT_EQ(array(9).batch(4, true).repeat(3).source()->rows(), 24);
  EXPECT_EQ(generator(8).batch(4).source()->access(), Access::replay);
  expect_within(message_of([&] { array(10).batch(4).repeat(3).source(); }), "leaves a short batch");
}

}  // namespace
}  // namespace snug
