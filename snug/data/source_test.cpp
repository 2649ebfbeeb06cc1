#include "snug/data/source.h"

#include "snug/data/source_testing.h"

namespace snug {
namespace {

using testing::expect_within;
using testing::message_of;

TEST(Source, StoredTypesHaveSizesAndNames) {
  const std::vector<std::pair<StoredType, std::string>> types = {
      {StoredType::float16, "float16 2"}, {StoredType::float32, "float32 4"},
      {StoredType::float64, "float64 8"}, {StoredType::int8, "int8 1"},
      {StoredType::int16, "int16 2"},     {StoredType::int32, "int32 4"},
      {StoredType::int64, "int64 8"},     {StoredType::uint8, "uint8 1"},
      {StoredType::uint16, "uint16 2"},   {StoredType::uint32, "uint32 4"},
      {StoredType::uint64, "uint64 8"},   {StoredType::boolean, "bool 1"}};
  for (const auto& [type, text] : types) {
    EXPECT_EQ(fmt::format("{} {}", name_of(type), size_of(type)), text);
  }
}

TEST(Source, ChecksItsFields) {
  const Field x{.name = "x", .row = {3}}, y{.name = "y", .role = FieldRole::target};
  const Field wide{.name = "w", .role = FieldRole::weight, .row = {2}},
      none{.name = "n", .row = {0}};
  const auto check = [](const std::vector<Field>& fields, const std::vector<int64_t>& rows) {
    return [=] { check_fields(fields, rows); };
  };
  EXPECT_NO_THROW(check({x, y}, {4, 4})());
  EXPECT_NO_THROW(check({x, wide}, {4, 4})());  // A weight for each step.
  expect_within(message_of(check({}, {})), "nothing was given");
  expect_within(message_of(check({x, y}, {4, 5})), "same number of rows, but x has 4, y has 5");
  expect_within(message_of(check({none}, {4})), "n: a row has the shape [0] and so no elements");
}

TEST(Source, CutsSlots) {
  std::vector<int32_t> values(12);
  const Tensor slot{{DType::int32, {4, 3}}, values.data()};
  const Tensor part = rows_of(slot, 1, 2);
  EXPECT_EQ(part.shape(), (Shape{2, 3}));
  EXPECT_EQ(part.data, values.data() + 3);
  EXPECT_EQ(rows_of(Tensor{}, 1, 2).data, nullptr);
}

TEST(Source, NamesFields) {
  EXPECT_EQ(field_name("x", 0, 1), "x");
  EXPECT_EQ(field_name("x", 1, 2), "x1");
}

}  // namespace
}  // namespace snug
