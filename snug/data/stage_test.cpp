#include "snug/data/stage.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "snug/base/error.h"
#include "snug/data/arrays.h"
#include "snug/kernels/convert.h"

namespace snug {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <typename From, typename To>
std::vector<To> staged(const std::vector<From>& from, DType dtype) {
  std::vector<To> to(from.size());
  const auto bad =
      stage(from.data(), Array::stored_type<From>(), std::ssize(from), to.data(), dtype);
  EXPECT_FALSE(bad) << "element " << *bad;
  return to;
}

template <typename From>
std::optional<int64_t> first_bad(const std::vector<From>& from, DType dtype) {
  std::vector<double> to(from.size());
  return stage(from.data(), Array::stored_type<From>(), std::ssize(from), to.data(), dtype);
}

template <typename From>
void expect_casts() {
  const std::vector<From> from = {0, 1, 100};
  EXPECT_EQ((staged<From, float>(from, DType::float32)), (std::vector<float>{0, 1, 100}));
  EXPECT_EQ((staged<From, int32_t>(from, DType::int32)), (std::vector<int32_t>{0, 1, 100}));
  EXPECT_EQ((staged<From, int64_t>(from, DType::int64)), (std::vector<int64_t>{0, 1, 100}));
  EXPECT_EQ((staged<From, uint8_t>(from, DType::uint8)), (std::vector<uint8_t>{0, 1, 100}));
  EXPECT_EQ(first_bad(from, DType::boolean), 2);
  EXPECT_EQ(element_text(from.data(), Array::stored_type<From>(), 2), "100");
}

TEST(Stage, CastsEveryStoredType) {
  expect_casts<float>();
  expect_casts<double>();
  expect_casts<int8_t>();
  expect_casts<int16_t>();
  expect_casts<int32_t>();
  expect_casts<int64_t>();
  expect_casts<uint8_t>();
  expect_casts<uint16_t>();
  expect_casts<uint32_t>();
  expect_casts<uint64_t>();
}

TEST(Stage, CastsHalves) {
  const std::vector<uint16_t> halves = {0x3c00, 0xc200, 0x7bff};  // 1, -3, 65504.
  std::vector<float> floats(3);
  std::vector<int32_t> numbers(3);
  EXPECT_FALSE(stage(halves.data(), StoredType::float16, 3, floats.data(), DType::float32));
  EXPECT_FALSE(stage(halves.data(), StoredType::float16, 3, numbers.data(), DType::int32));
  EXPECT_EQ(floats, (std::vector<float>{1, -3, 65504}));
  EXPECT_EQ(numbers, (std::vector<int32_t>{1, -3, 65504}));
  const std::vector<uint16_t> infinite = {0x3c00, 0x7c00};
  EXPECT_EQ(stage(infinite.data(), StoredType::float16, 2, floats.data(), DType::float32), 1);
  EXPECT_EQ(element_text(infinite.data(), StoredType::float16, 1), "inf");
}

// Any byte but 0 is true, as in NumPy.
TEST(Stage, CastsTruths) {
  const std::vector<uint8_t> bytes = {0, 1, 7};
  std::vector<float> floats(3);
  std::vector<int32_t> numbers(3);
  std::vector<uint8_t> truths(3);
  EXPECT_FALSE(stage(bytes.data(), StoredType::boolean, 3, floats.data(), DType::float32));
  EXPECT_FALSE(stage(bytes.data(), StoredType::boolean, 3, numbers.data(), DType::int32));
  EXPECT_FALSE(stage(bytes.data(), StoredType::boolean, 3, truths.data(), DType::boolean));
  EXPECT_EQ(floats, (std::vector<float>{0, 1, 1}));
  EXPECT_EQ(numbers, (std::vector<int32_t>{0, 1, 1}));
  EXPECT_EQ(truths, (std::vector<uint8_t>{0, 1, 1}));
}

TEST(Stage, FindsTheFirstThatIsNotFinite) {
  for (const double bad : {std::nan(""), kInfinity, -kInfinity}) {
    for (const int64_t place : {0, 5, 4095, 4096, 9999}) {
      std::vector<float> floats(10'000, 1.5f);
      floats[place] = static_cast<float>(bad);
      floats.back() = static_cast<float>(bad);
      EXPECT_EQ(first_bad(floats, DType::float32), place);
      std::vector<double> doubles(floats.begin(), floats.end());
      EXPECT_EQ(first_bad(doubles, DType::float32), place);
    }
  }
  EXPECT_FALSE(first_bad(std::vector<float>{std::numeric_limits<float>::max()}, DType::float32));
  EXPECT_EQ(first_bad(std::vector<double>{1, 1e39}, DType::float32), 1);
}

TEST(Stage, ChecksInPlace) {
  std::vector<float> values = {1, 2, std::nanf("")};
  EXPECT_EQ(stage(values.data(), StoredType::float32, 3, values.data(), DType::float32), 2);
  EXPECT_FALSE(stage(values.data(), StoredType::float32, 2, values.data(), DType::float32));
  EXPECT_EQ(values[1], 2);
}

TEST(Stage, HoldsWholeNumbersToTheirRange) {
  EXPECT_EQ(first_bad(std::vector<double>{1, 2.5}, DType::int32), 1);
  EXPECT_EQ(first_bad(std::vector<float>{1, std::nanf("")}, DType::int32), 1);
  EXPECT_EQ(first_bad(std::vector<double>{-2147483648.0, 2147483647.0}, DType::int32),
            std::nullopt);
  EXPECT_EQ(first_bad(std::vector<double>{2147483648.0}, DType::int32), 0);
  EXPECT_EQ(first_bad(std::vector<int64_t>{-5, int64_t{1} << 31}, DType::int32), 1);
  EXPECT_EQ(first_bad(std::vector<uint64_t>{~uint64_t{0}}, DType::int64), 0);
  EXPECT_EQ(first_bad(std::vector<double>{0x1p63}, DType::int64), 0);
  EXPECT_EQ(first_bad(std::vector<double>{-0x1p63}, DType::int64), std::nullopt);
  EXPECT_EQ(first_bad(std::vector<int32_t>{255, 256}, DType::uint8), 1);
  EXPECT_EQ(first_bad(std::vector<int32_t>{-1}, DType::uint8), 0);
}

std::string refusal(const Field& field, int64_t index, const std::string& value, DType wanted) {
  try {
    refuse_element(field, 17, index, value, wanted);
  } catch (const DataError& error) {
    return error.what();
  }
}

TEST(Stage, NamesTheElementThatItRefuses) {
  EXPECT_EQ(
      refusal({.name = "x.npy", .row = {4}}, 3, "nan", DType::float32),
      "x.npy: row 17, column 3 is nan, but a finite number was expected; mend or drop the row");
  EXPECT_EQ(refusal({.name = "x", .row = {2, 3}}, 5, "1e+300", DType::float32),
            "x: row 17, element [1, 2] is 1e+300, but a number that float32 holds, up to 3.4e38, "
            "was expected; mend or drop the row");
  EXPECT_EQ(refusal({.name = "y", .row = {}}, 0, "2.5", DType::int32),
            "y: row 17 is 2.5, but a whole number that int32 holds was expected; mend or drop the "
            "row");
  EXPECT_EQ(refusal({.name = "y", .role = FieldRole::target, .row = {}}, 0, "2.5", DType::int32),
            "y: row 17 is 2.5, but a whole number that int32 holds was expected; mend or drop the "
            "row, or, for amounts, use a loss such as mse: this one takes numbers of classes");
  EXPECT_EQ(refusal({.name = "y", .row = {}}, 0, "2", DType::boolean),
            "y: row 17 is 2, but 0 or 1 was expected; mend or drop the row");
}

TEST(Stage, CountsRowsFromWhereItBegins) {
  const std::vector<double> values = {1, 2, 3, std::nan("")};
  std::vector<float> to(4);
  const Field field{.name = "x", .stored = StoredType::float64, .row = {3}};
  try {
    stage_rows(field, {10, 2}, values.data(), 4, to.data(), DType::float32);
    FAIL();
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("row 11, column 2 is nan"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace snug
