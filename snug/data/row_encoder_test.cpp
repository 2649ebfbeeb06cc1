#include "snug/data/row_encoder.h"

#include <gtest/gtest.h>

#include <cmath>

#include "snug/data/source_testing.h"

namespace snug::testing {
namespace {

// age: number with a mean of 10; work: two categories; y: the label; w: the weight.
Columns table() {
  Columns columns;
  columns.columns = {{.name = "age",
                      .use = ColumnUse::standardise,
                      .missing = MissingRule::mean,
                      .missing_value = 10,
                      .shift = 10,
                      .scale = 0.5},
                     {.name = "id", .use = ColumnUse::drop},
                     {.name = "work",
                      .use = ColumnUse::one_hot,
                      .missing = MissingRule::category,
                      .vocabulary = {"a", "b"}},
                     {.name = "y", .use = ColumnUse::index, .vocabulary = {"no", "yes"}},
                     {.name = "w", .use = ColumnUse::as_is}};
  columns.labels = {"y"};
  columns.weight = "w";
  return columns;
}

class Encoding {
 public:
  std::optional<RowProblem> encode(std::vector<std::string_view> cells, bool impute = false) {
    CsvRecord record;
    record.line = 7;
    record.cells = std::move(cells);
    return encoder.encode(record, impute, row, imputed);
  }
  std::vector<float> inputs() const {
    std::vector<float> values(static_cast<size_t>(encoder.columns().input_width()));
    encoder.expand_inputs(row, values.data());
    return values;
  }
  float label() const {
    float value = -1;
    encoder.expand_labels(row, &value);
    return value;
  }

  RowEncoder encoder{table()};
  int64_t imputed = 0;
  std::vector<uint32_t> row = std::vector<uint32_t>(encoder.words());
};

TEST(RowEncoder, PacksAndExpands) {
  Encoding e;
  EXPECT_EQ(e.encoder.words(), 5u) << "the line and four columns";
  ASSERT_FALSE(e.encode({"12", "whatever", "b", "yes", "2"}));
  EXPECT_EQ(e.row[0], 7u);
  EXPECT_EQ(e.inputs(), (std::vector<float>{1, 0, 1}));
  EXPECT_EQ(e.label(), 1);
  float weight = 0;
  e.encoder.expand_weights(e.row, &weight);
  EXPECT_EQ(weight, 2);
  ASSERT_FALSE(e.encode({"?", "", "NA", "no", "1"}));
  EXPECT_EQ(e.inputs(), (std::vector<float>{0, 0, 0})) << "the mean, and no category";
}

TEST(RowEncoder, NamesWhatIsWrong) {
  Encoding e;
  const auto problem = [&](std::vector<std::string_view> cells) {
    const std::optional<RowProblem> found = e.encode(std::move(cells));
    return found ? fmt::format("{} {}: {}", found->column, found->value, found->expected) : "none";
  };
  expect_within(problem({"x", "", "a", "no", "1"}), "0 x: a number was expected");
  expect_within(problem({"1e39", "", "a", "no", "1"}), "0 1e39: a finite number");
  expect_within(problem({"1", "", "c", "no", "1"}), "2 c: one of the 2 categories");
  expect_within(problem({"1", "", "a", "", "1"}), "3 : a value was expected");
  expect_within(problem({"1", "", "a", "maybe", "1"}), "3 maybe: one of the 2 categories");
  expect_within(problem({"1", "", "a", "no", "-1"}), "4 -1: a weight of 0 or more");
  expect_within(problem({"1", "", "a", "no"}), "-1 : it has 4 cells, but 5");
}

// A column whose cells were all missing has learned no word.
TEST(RowEncoder, SaysWhereThereAreNoCategories) {
  Columns columns = table();
  columns.columns[2].vocabulary.clear();
  RowEncoder encoder(columns);
  std::vector<uint32_t> row(encoder.words());
  CsvRecord record;
  record.cells = {"10", "", "a", "no", "5"};
  int64_t imputed = 0;
  const std::optional<RowProblem> found = encoder.encode(record, false, row, imputed);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->column, 2);
  EXPECT_EQ(found->value, "a");
  EXPECT_EQ(found->expected, "the rows before it have no category in this column");
  record.cells[2] = "";
  EXPECT_FALSE(encoder.encode(record, false, row, imputed)) << "a missing cell needs none";
}

TEST(RowEncoder, ImputesOnlyWhereThereIsARule) {
  Encoding e;
  EXPECT_FALSE(e.encode({"x", "", "c", "no", "1"}, /*impute=*/true));
  EXPECT_EQ(e.inputs(), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(e.imputed, 2);
  EXPECT_TRUE(e.encode({"1", "", "a", "maybe", "1"}, /*impute=*/true));
}

TEST(RowEncoder, SeveralLabelsComeInTheOrderTheyWereNamed) {
  Columns columns = table();
  columns.weight.clear();
  columns.labels = {"w", "age"};
  RowEncoder encoder(columns);
  CsvRecord record;
  record.cells = {"14", "", "a", "no", "5"};
  std::vector<uint32_t> row(encoder.words());
  int64_t imputed = 0;
  ASSERT_FALSE(encoder.encode(record, false, row, imputed));
  ASSERT_EQ(encoder.label_width(), 2);
  float labels[2] = {};
  encoder.expand_labels(row, labels);
  EXPECT_EQ(labels[0], 5);
  EXPECT_EQ(labels[1], 2);
}

TEST(RowEncoder, KnowsCellsThatAreLikeThoseOfARow) {
  using Cells = std::vector<std::string_view>;
  const RowEncoder encoder(table());
  EXPECT_EQ(encoder.likeness(Cells{"14", "x", "a", "no", "5"}), Likeness::plain);
  EXPECT_EQ(encoder.likeness(Cells{"14", "x", "new", "new", "NA"}), Likeness::plain);
  EXPECT_EQ(encoder.likeness(Cells{"", "x", "new", "yes", ""}), Likeness::plain);
  EXPECT_EQ(encoder.likeness(Cells{"", "14", "new", "new", ""}), Likeness::unclear);
  EXPECT_EQ(encoder.likeness(Cells{"old", "x", "a", "no", "5"}), Likeness::none);
}

TEST(RowEncoder, HashesToTheSameBucketEverywhere) {
  Columns columns = table();
  columns.columns[2] = {
      .name = "work", .use = ColumnUse::hash, .missing = MissingRule::category, .buckets = 8};
  RowEncoder encoder(columns);
  std::vector<uint32_t> row(encoder.words());
  CsvRecord record;
  record.cells = {"10", "", "Österreich", "no", "5"};
  int64_t imputed = 0;
  ASSERT_FALSE(encoder.encode(record, false, row, imputed));
  std::vector<float> values(9);
  encoder.expand_inputs(row, values.data());
  EXPECT_EQ(std::ranges::count(values, 1.0f), 1);
  EXPECT_EQ(std::ranges::count(values, 0.0f), 8);
}

}  // namespace
}  // namespace snug::testing
