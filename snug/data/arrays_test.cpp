#include "snug/data/arrays.h"

#include <cmath>

#include "snug/data/source_testing.h"

namespace snug {
namespace {

using testing::expect_random_source;
using testing::expect_within;
using testing::message_of;
using testing::read_rows;

template <typename T>
std::vector<T> counted(int64_t count) {
  std::vector<T> values(count);
  for (int64_t i = 0; i < count; ++i) values[i] = static_cast<T>(i);
  return values;
}

template <typename T>
void expect_source_of() {
  const std::vector<T> x = counted<T>(7 * 3), y = counted<T>(7);
  const SourcePtr source = data::arrays(Array(x.data(), {7, 3}), Array(y));
  EXPECT_EQ(source->fields()[0].stored, Array::stored_type<T>());
  EXPECT_EQ(source->buffer_bytes(), 0);
  expect_random_source(*source);
  EXPECT_EQ(read_rows(*source, 0, {4, 0}), (std::vector<float>{12, 13, 14, 0, 1, 2}));
}

TEST(Arrays, HaveEveryNumericType) {
  expect_source_of<float>();
  expect_source_of<double>();
  expect_source_of<int8_t>();
  expect_source_of<int16_t>();
  expect_source_of<int32_t>();
  expect_source_of<int64_t>();
  expect_source_of<uint8_t>();
  expect_source_of<uint16_t>();
  expect_source_of<uint32_t>();
  expect_source_of<uint64_t>();
}

TEST(Arrays, HaveTruths) {
  const bool truths[] = {true, false, true};
  const SourcePtr source = data::arrays(Array(truths, {3}));
  EXPECT_EQ(read_rows(*source, 0, {0, 1, 2}), (std::vector<float>{1, 0, 1}));
}

TEST(Arrays, HaveSeveralFieldsInOrder) {
  const std::vector<float> a = counted<float>(4), b = counted<float>(8), y = counted<float>(4);
  const SourcePtr source = data::arrays(
      {.x = {Array(a), Array(b.data(), {4, 2})}, .y = {Array(y)}, .sample_weight = Array(a)});
  std::string names;
  for (const Field& field : source->fields()) {
    names += fmt::format("{} {} {};", field.name, static_cast<int>(field.role), field.row.text());
  }
  EXPECT_EQ(names, "x0 0 [];x1 0 [2];y 1 [];sample_weight 2 [];");
  EXPECT_EQ(source->rows(), 4);
}

TEST(Arrays, AreBorrowedWhereTheTypeIsRight) {
  const std::vector<float> x = counted<float>(12);
  const std::vector<int32_t> y = counted<int32_t>(4);
  const SourcePtr source = data::arrays(Array(x.data(), {4, 3}), Array(y));
  EXPECT_EQ(source->borrow(0, 0, 4, DType::float32), x.data());
  EXPECT_EQ(source->borrow(0, 2, 2, DType::float32), x.data() + 6);
  EXPECT_EQ(source->borrow(1, 1, 3, DType::int32), y.data() + 1);
  EXPECT_EQ(source->borrow(0, 0, 4, DType::int32), nullptr);
  EXPECT_EQ(source->borrow(1, 0, 4, DType::float32), nullptr);
  EXPECT_EQ(source->borrow(0, 2, 3, DType::float32), nullptr);
}

TEST(Arrays, NameABadElement) {
  std::vector<double> x(200, 1.0);
  x[37 * 4 + 2] = std::nan("");
  const SourcePtr source = data::arrays(Array(x.data(), {50, 4}));
  const std::string bad = message_of<DataError>([&] { read_rows(*source, 0, {36, 37, 38}); });
  EXPECT_EQ(bad,
            "x: row 37, column 2 is nan, but a finite number was expected; mend or drop the row");
  EXPECT_EQ(message_of<DataError>([&] { read_rows(*source, 0, {3, 37, 1}); }), bad);
  EXPECT_EQ(read_rows(*source, 0, {36, 38}), std::vector<float>(8, 1.0f));
  EXPECT_EQ(message_of<DataError>([&] { testing::rest_of(*source, 0, 20); }), bad);
}

TEST(Arrays, NameALabelThatIsNoWholeNumber) {
  const std::vector<float> x(3), y = {0, 1, 1.5};
  const SourcePtr source = data::arrays(Array(x), Array(y));
  EXPECT_EQ(message_of<DataError>([&] {
              read_rows<int32_t>(*source, 1, {0, 1, 2});
            }),
            "y: row 2 is 1.5, but a whole number that int32 holds was expected; mend or drop the "
            "row, or, for amounts, use a loss such as mse: this one takes numbers of classes");
}

TEST(Arrays, RefuseWhatDoesNotGoTogether) {
  const std::vector<float> x(12), y(4), w(8);
  expect_within(message_of([&] {
                  data::arrays(Array(x.data(), {6, 2}), Array(y));
                }),
                "same number of rows, but x has 6, y has 4");
  expect_within(message_of([&] { data::arrays(Array(), Array(y)); }), "x: the array is empty");
  expect_within(message_of([&] { data::arrays(Array(x.data(), Shape{})); }), "rows first");
  expect_within(message_of([&] {
                  data::arrays({.x = {Array(y)}, .y = {}, .sample_weight = Array(w.data(), {8})});
                }),
                "same number of rows, but x has 4, sample_weight has 8");
}

}  // namespace
}  // namespace snug
