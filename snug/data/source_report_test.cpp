#include "snug/data/source_report.h"

#include <gtest/gtest.h>

#include <cmath>

#include "snug/data/arrays.h"
#include "snug/data/source_testing.h"

namespace snug::testing {
namespace {

TEST(SourceReport, FiguresOfGoodRowsAndPlacesOfBadOnes) {
  std::vector<float> x(2000);
  std::vector<int64_t> y(1000);
  for (int64_t i = 0; i < 1000; ++i) {
    x[2 * i] = static_cast<float>(i);
    x[2 * i + 1] = 1;
    y[i] = i % 2;
  }
  x[2 * 777 + 1] = INFINITY;
  x[2 * 999] = NAN;
  const SourcePtr source = data::arrays(Array(x.data(), {1000, 2}), Array(y.data(), {1000}));
  const SourceReport report = report_on(*source);
  EXPECT_EQ(report.rows, 1000);
  EXPECT_EQ(report.bad_rows, 2);
  ASSERT_EQ(report.listed.size(), 2u);
  EXPECT_EQ(report.listed[0].position, "row 777");
  expect_within(report.listed[0].problem, "column 1 is inf, but a finite number was expected");
  EXPECT_EQ(report.listed[1].position, "row 999");
  EXPECT_FALSE(report.is_clean());
  ASSERT_EQ(report.fields.size(), 2u);
  EXPECT_EQ(report.fields[0].numbers, 2 * 998);
  EXPECT_EQ(report.fields[0].max, 998);
  EXPECT_EQ(report.fields[1].classes, (std::map<std::string, int64_t>{{"0", 500}, {"1", 498}}));
  EXPECT_TRUE(report.wrong.empty());
}

TEST(SourceReport, ListsSomeBadRowsAndCountsAll) {
  const std::vector<float> x(50, NAN), y(50, 0);
  const SourceReport report = report_on(*data::arrays(Array(x), Array(y)), {.most_listed = 3});
  EXPECT_EQ(report.bad_rows, 50);
  EXPECT_EQ(report.listed.size(), 3u);
  EXPECT_EQ(report.fields[0].numbers, 0);
  EXPECT_EQ(report.fields[0].mean(), 0);
}

TEST(SourceReport, AClassThatOnlyTheTailHas) {
  const std::vector<float> x(10, 1);
  const std::vector<int32_t> y = {0, 1, 0, 1, 0, 1, 0, 1, 0, 2};
  const SourcePtr source = data::arrays(Array(x), Array(y));
  const SourceReport report = report_on(*source);
  ASSERT_EQ(report.wrong.size(), 2u);
  expect_within(report.wrong[0], "class \"1\" has 4 rows, all of them in the first 80 %");
  expect_within(report.wrong[1], "class \"2\" has 1 row, all of them in the last 20 %");
  EXPECT_TRUE(report_on(*source, {.tail = 0}).is_clean());
}

// A file of labels by itself says nothing of its role.
TEST(SourceReport, WholeNumbersAloneAreCounted) {
  using Classes = std::map<std::string, int64_t>;
  const std::vector<int64_t> labels = {0, 1, 2, 1, 0, 2, 2, 2, 0, 1};
  const SourceReport report = report_on(*data::arrays(Array(labels)));
  EXPECT_EQ(report.fields[0].classes, (Classes{{"0", 3}, {"1", 3}, {"2", 4}}));
  const std::vector<float> whole = {0, 1, 1, 0}, others = {0, 0, 0.5F, 0.5F};
  EXPECT_EQ(report_on(*data::arrays(Array(whole))).fields[0].classes,
            (Classes{{"0", 2}, {"1", 2}}));
  EXPECT_TRUE(report_on(*data::arrays(Array(others))).fields[0].classes.empty());
}

TEST(SourceReport, ManyNumbersAreNoClasses) {
  std::vector<int32_t> y(3000);
  for (size_t i = 0; i < y.size(); ++i) y[i] = static_cast<int32_t>(i);
  const std::vector<float> x(3000, 1);
  const SourceReport report = report_on(*data::arrays(Array(x), Array(y)));
  EXPECT_TRUE(report.fields[1].classes.empty());
  EXPECT_TRUE(report.is_clean());
}

}  // namespace
}  // namespace snug::testing
