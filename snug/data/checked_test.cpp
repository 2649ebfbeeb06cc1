#include "snug/data/checked.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "snug/data/arrays.h"
#include "snug/data/source_testing.h"
#include "snug/testing/memory_files.h"

namespace snug::testing {
namespace {

data::CheckOptions skipping(double most = 1) {
  return {.bad_rows = {.policy = BadRowPolicy::skip, .most = most}};
}

TEST(Checked, LeavesOutBadRowsWhereverTheyAre) {
  std::mt19937 random(7);
  for (const int64_t rows : {1, 2, 3, 17, 1000}) {
    for (const int share : {2, 5, 400}) {
      std::vector<float> x(rows * 2);
      std::vector<int32_t> y(rows);
      std::vector<int64_t> good;
      for (int64_t i = 0; i < rows; ++i) {
        const bool bad = random() % share == 0;
        x[2 * i] = static_cast<float>(i);
        x[2 * i + 1] = bad && i % 2 == 0 ? NAN : 1;
        y[i] = bad && i % 2 == 1 ? 9 : static_cast<int32_t>(i % 3);
        if (!bad) good.push_back(i);
      }
      if (good.empty()) continue;
      data::CheckOptions options = skipping();
      options.rules.classes = 3;
      const data::CheckedData checked =
          data::checked(data::arrays(Array(x.data(), {rows, 2}), Array(y.data(), {rows})), options);
      ASSERT_EQ(checked.source->rows(), std::ssize(good));
      EXPECT_EQ(checked.bad_rows, rows - std::ssize(good));
      expect_random_source(*checked.source);
      for (int64_t i = 0; i < std::ssize(good); ++i) {
        EXPECT_EQ(read_rows(*checked.source, 0, {i})[0], static_cast<float>(good[i]));
        EXPECT_EQ(checked.source->place(0, i), fmt::format("x: row {}", good[i]));
      }
    }
  }
}

TEST(Checked, IdsThatAnEmbeddingDoesNotHaveAreBad) {
  const std::vector<int32_t> ids = {0, 9, 10, 0, -1, 5, 3, 3};
  const std::vector<float> numbers(ids.begin(), ids.end());
  for (const Array& x : {Array(ids.data(), {4, 2}), Array(numbers.data(), {4, 2})}) {
    data::CheckOptions options = skipping();
    options.rules.ids_below = {10};
    const data::CheckedData checked = data::checked(data::arrays(x), options);
    EXPECT_EQ(checked.bad_rows, 2);
    EXPECT_EQ(checked.source->place(0, 1), "x: row 3");
  }
}

TEST(Checked, QuarantineWritesThemDown) {
  MemoryFiles files;
  const std::vector<float> x = {1, 2, INFINITY, 4, 5, 6};
  const std::vector<int64_t> y = {0, 1, 7};
  const data::CheckedData checked = data::checked(
      data::arrays(Array(x.data(), {3, 2}), Array(y.data(), {3})),
      {.bad_rows = {.policy = BadRowPolicy::quarantine, .most = 1, .rejected = "rejected.csv"},
       .rules = {.classes = 2},
       .files = &files});
  EXPECT_EQ(checked.source->rows(), 1);
  EXPECT_EQ(read_text(files, "rejected.csv"),
            "file,position,column,value,problem,record\n"
            "x,row 1,,,\"column 0 is inf, but a finite number was expected\",\n"
            "x,row 2,,,\"the label is 7, but the model has 2 outputs, for labels 0 to 1\",\n");
}

TEST(Checked, TooManyBadRowsAreAnError) {
  const std::vector<float> x = {1, NAN, 3, 4};
  const Array array(x.data(), {4, 1});
  expect_within(message_of<DataError>([&] { data::checked(data::arrays(array), skipping(0.1)); }),
                "1 of 4 rows are bad, more than the 10 %");
  const std::vector<float> none = {NAN, NAN};
  expect_within(message_of<DataError>([&] {
                  data::checked(data::arrays(Array(none.data(), {2, 1})), skipping());
                }),
                "all of its 2 rows are bad");
  expect_within(message_of([&] {
                  data::checked(data::arrays(array),
                                {.bad_rows = {.policy = BadRowPolicy::impute}});
                }),
                "impute is for the columns of CSV files");
}

}  // namespace
}  // namespace snug::testing
