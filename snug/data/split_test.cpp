#include "snug/data/split.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "snug/data/arrays.h"
#include "snug/data/row_subset.h"
#include "snug/data/source_testing.h"
#include "snug/testing/warnings.h"

namespace snug::testing {
namespace {

// Rows 0 .. n-1 with their own number as x.
struct Numbered {
  explicit Numbered(std::vector<int32_t> labels) : y(std::move(labels)), x(y.size()) {
    std::iota(x.begin(), x.end(), 0.0f);
  }
  SourcePtr source() const { return data::arrays(Array(x), Array(y)); }
  std::vector<int32_t> y;
  std::vector<float> x;
};

std::vector<int32_t> cycling(int64_t rows, int32_t classes) {
  std::vector<int32_t> labels(static_cast<size_t>(rows));
  for (size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<int32_t>(i) % classes;
  return labels;
}

std::vector<float> all_rows(Source& source) {
  source.begin_pass(0);
  return rest_of(source, 0, 7);
}

TEST(RowSubset, FindsRowsByNumber) {
  for (const int64_t size : {1, 63, 64, 65, 5000}) {
    RowSubset subset(size);
    std::vector<int64_t> rows, rest;
    for (int64_t row = 0; row < size; ++row) {
      if (row * row % 7 < 3 || row == size - 1) {
        subset.add(row);
        rows.push_back(row);
      } else {
        rest.push_back(row);
      }
    }
    subset.finish();
    const RowSubset other = subset.rest();
    ASSERT_EQ(subset.count(), std::ssize(rows));
    ASSERT_EQ(other.count(), std::ssize(rest));
    for (int64_t i = 0; i < std::ssize(rows); ++i) EXPECT_EQ(subset.row(i), rows[i]);
    for (int64_t i = 0; i < std::ssize(rest); ++i) EXPECT_EQ(other.row(i), rest[i]);
  }
}

TEST(Split, HasEveryRowOnOneSide) {
  const Numbered data(cycling(103, 3));
  for (const SplitKind kind : {SplitKind::tail, SplitKind::random, SplitKind::stratified}) {
    const data::SplitData split = data::split(data.source(), {.share = 0.2, .kind = kind});
    EXPECT_EQ(*split.train->rows() + *split.validation->rows(), 103);
    EXPECT_NEAR(static_cast<double>(*split.validation->rows()), 21, 1);
    expect_random_source(*split.train);
    std::vector<float> rows = all_rows(*split.train);
    const std::vector<float> others = all_rows(*split.validation);
    rows.insert(rows.end(), others.begin(), others.end());
    std::ranges::sort(rows);
    EXPECT_EQ(rows, data.x);
  }
}

TEST(Split, TailIsKerass) {
  const Numbered data(cycling(10, 2));
  const data::SplitData split = data::split(data.source(), {.share = 0.25});
  EXPECT_EQ(all_rows(*split.validation), (std::vector<float>{7, 8, 9}));
  EXPECT_EQ(split.validation->place(0, 1), "x: row 8");
}

TEST(Split, RandomDependsOnTheSeedOnly) {
  const Numbered data(cycling(100, 2));
  const auto rows = [&](uint64_t seed) {
    return all_rows(*data::split(data.source(), {.kind = SplitKind::random, .seed = seed}).train);
  };
  EXPECT_EQ(rows(1), rows(1));
  EXPECT_NE(rows(1), rows(2));
}

TEST(Split, StratifiedKeepsTheShareOfEachClass) {
  std::vector<int32_t> labels = cycling(1000, 2);
  for (size_t i = 0; i < 50; ++i) labels[i] = 7;
  const Numbered data(labels);
  const data::SplitData split =
      data::split(data.source(), {.share = 0.2, .kind = SplitKind::stratified});
  split.validation->begin_pass(0);
  const std::vector<int32_t> drawn = rest_of<int32_t>(*split.validation, 1, 100);
  EXPECT_EQ(std::ranges::count(drawn, 7), 10);
  EXPECT_EQ(std::ranges::count(drawn, 0), 95);
  EXPECT_EQ(std::ranges::count(drawn, 1), 95);
}

TEST(Split, ClassesOfOneSideAreNamed) {
  std::vector<int32_t> labels = cycling(100, 2);
  for (size_t i = 90; i < 100; ++i) labels[i] = 5;
  const Numbered data(labels);
  {
    const Warnings warnings;
    data::split(data.source(), {.share = 0.2});
    expect_within(warnings.text(), "all 10 rows of class 5 are on the validation side");
    expect_within(warnings.text(), "never trained");
  }
  {
    const Warnings warnings;
    data::split(data.source(), {.share = 0.2, .class_names = {"a", "b", "c", "d", "e", "fox"}});
    expect_within(warnings.text(), "all 10 rows of class \"fox\" are on the validation side");
  }
  const Warnings none;
  data::split(data.source(), {.share = 0.2, .kind = SplitKind::stratified});
  data::split(data.source(), {.share = 0.2, .warns = false});
  EXPECT_EQ(none.text(), "");
}

TEST(Split, OfManyClassesOfOneSideTheFirstAreNamed) {
  std::vector<int32_t> labels(80);
  for (size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<int32_t>(i / 2);
  const Numbered data(labels);
  const Warnings warnings;
  data::split(data.source(), {.share = 0.5});
  expect_within(warnings.text(), "class 4 ");
  EXPECT_EQ(warnings.text().find("class 5 "), std::string::npos);
  expect_within(warnings.text(), "and 35 more classes are on one side of the split alone");
}

TEST(Split, AmountsAreNoClasses) {
  const Numbered data(cycling(40, 40));
  const Warnings none;
  data::split(data.source(), {.share = 0.5});
  EXPECT_EQ(none.text(), "");
}

TEST(Split, MistakesAreNamed) {
  const Numbered data(cycling(10, 2));
  for (const double share : {0.0, 1.0, -0.5}) {
    expect_within(message_of([&] { data::split(data.source(), {.share = share}); }),
                  "must be between 0 and 1");
  }
  expect_within(message_of([&] { data::split(data.source(), {.share = 0.99}); }),
                "both sides need rows");
  const std::vector<float> x = {1, 2, 3}, y = {0.5, 1.5, 2};
  expect_within(message_of([&] {
                  data::split(data::arrays(Array(x), Array(y)), {.kind = SplitKind::stratified});
                }),
                "not one of at most");
  expect_within(message_of([] { split_kind("stratifed"); }), "did you mean stratified");
}

}  // namespace
}  // namespace snug::testing
