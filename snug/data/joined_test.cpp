// concatenate, zip, map, filter, range, reduce and apply of Dataset.

#include "snug/data/joined.h"

#include <gtest/gtest.h>

#include <cmath>

#include "snug/data/dataset.h"
#include "snug/data/source_testing.h"

namespace snug::testing {
namespace {

std::vector<float> xs_of(const Dataset& dataset) {
  return dataset.reduce(std::vector<float>(), [](std::vector<float> all, const Batch& batch) {
    if (batch.x[0].dtype() == DType::int32) {
      for (const int32_t value : batch.x[0].as<int32_t>()) all.push_back(static_cast<float>(value));
    } else {
      for (const float value : batch.x[0].as<float>()) all.push_back(value);
    }
    return all;
  });
}

TEST(DatasetVerbs, Range) {
  EXPECT_EQ(xs_of(Dataset::range(5).batch(2)), (std::vector<float>{0, 1, 2, 3, 4}));
  EXPECT_EQ(xs_of(Dataset::range(5).skip(3)), (std::vector<float>{3, 4}));
  expect_within(message_of([] { Dataset::range(0); }), "range(0)");
}

TEST(DatasetVerbs, Concatenate) {
  const Dataset both = Dataset::range(3).concatenate(Dataset::range(9).skip(5));
  EXPECT_EQ(xs_of(both.batch(4)), (std::vector<float>{0, 1, 2, 5, 6, 7, 8}));
  expect_random_source(*both.source());
  EXPECT_EQ(both.source()->place(0, 3), "range: row 5");
  const std::vector<float> x = {1, 2};
  const Dataset wide = Dataset::from_tensor_slices({.x = {Array(x.data(), {1, 2})}, .y = {}});
  expect_within(message_of([&] { wide.concatenate(Dataset::range(2)); }), "has the shape [2]");
  expect_within(message_of([&] { wide.batch(2).concatenate(wide); }), "concatenate after batch");
}

TEST(DatasetVerbs, Zip) {
  const std::vector<float> x = {1, 2, 3};
  const std::vector<int32_t> y = {7, 8, 9, 10};
  const Dataset labels =
      Dataset::from_tensor_slices(data::ArraysOptions{.x = {Array(y)}, .y = {Array(y)}});
  const Dataset both =
      Dataset::zip(labels, Dataset::from_tensor_slices({.x = {Array(x)}, .y = {}}));
  const SourcePtr source = both.source();
  ASSERT_EQ(source->fields().size(), 3u);
  EXPECT_EQ(source->rows(), 3);
  EXPECT_EQ(source->fields()[1].stored, StoredType::float32);
  EXPECT_EQ(source->fields()[2].role, FieldRole::target);
  EXPECT_EQ(read_rows(*source, 1, {2, 0}), (std::vector<float>{3, 1}));
  EXPECT_EQ(read_rows<int32_t>(*source, 2, {2, 0}), (std::vector<int32_t>{9, 7}));
  expect_random_source(*source);
}

TEST(DatasetVerbs, Map) {
  int calls = 0;
  const Dataset mapped = Dataset::range(1000).map(
      [&](std::span<const Tensor> in, std::span<const Tensor> out) {
        ++calls;
        const std::span<int32_t> numbers = in[0].as<int32_t>();
        for (size_t i = 0; i < numbers.size(); ++i) {
          out[0].as<float>()[2 * i] = static_cast<float>(numbers[i]);
          out[0].as<float>()[2 * i + 1] = static_cast<float>(2 * numbers[i]);
          out[1].as<int32_t>()[i] = numbers[i] % 3;
        }
      },
      {.x = Shape{2}, .y = {Shape{}, DType::int32}});
  const SourcePtr source = mapped.source();
  EXPECT_EQ(read_rows(*source, 0, {999, 4}), (std::vector<float>{999, 1998, 4, 8}));
  EXPECT_EQ(read_rows<int32_t>(*source, 1, {999, 4}), (std::vector<int32_t>{0, 1}));
  expect_random_source(*source);
  calls = 0;
  int64_t rows = 0;
  for (const Batch& batch : mapped.shuffle(1).batch(32)) rows += batch.rows;
  EXPECT_EQ(rows, 1000);
}

TEST(DatasetVerbs, MapIsChecked) {
  const Dataset bad = Dataset::range(10).map(
      [](std::span<const Tensor> in, std::span<const Tensor> out) {
        for (size_t i = 0; i < in[0].as<int32_t>().size(); ++i) {
          out[0].as<float>()[i] = in[0].as<int32_t>()[i] == 6 ? NAN : 1;
        }
      },
      {.x = Shape{}, .y = {}});
  expect_within(message_of<DataError>([&] { xs_of(bad.batch(3)); }), "map: x: row 6 is nan");
}

TEST(DatasetVerbs, FilterAndApply) {
  const Dataset even = Dataset::range(100).filter(
      [](std::span<const Tensor> row) { return row[0].as<int32_t>()[0] % 2 == 0; });
  EXPECT_EQ(even.source()->rows(), 50);
  EXPECT_EQ(xs_of(even.skip(47).batch(8)), (std::vector<float>{94, 96, 98}));
  EXPECT_EQ(even.source()->place(0, 3), "range: row 6");
  const auto halved = [](const Dataset& dataset) { return dataset.take(25); };
  EXPECT_EQ(even.apply(halved).source()->rows(), 25);
}

TEST(DatasetVerbs, DropRemainderLeavesWholeBatches) {
  EXPECT_EQ(Dataset::range(10).batch(4, true).source()->rows(), 8);
  EXPECT_EQ(Dataset::range(10).batch(4).source()->rows(), 10);
}

}  // namespace
}  // namespace snug::testing
