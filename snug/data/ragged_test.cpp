#include "snug/data/ragged.h"

#include <gtest/gtest.h>

#include <cmath>

#include "snug/data/source_testing.h"

namespace snug::testing {
namespace {

TEST(Ragged, RowsArePaddedToTheDeclaredLength) {
  const std::vector<int64_t> values = {1, 2, 3, 4, 5, 6}, splits = {0, 2, 2, 6};
  const SourcePtr source =
      data::ragged({.values = Array(values), .row_splits = splits, .longest = 4});
  EXPECT_EQ(source->fields()[0].row, (Shape{4}));
  EXPECT_EQ(read_rows<int32_t>(*source, 0, {2, 0, 1}),
            (std::vector<int32_t>{3, 4, 5, 6, 1, 2, 0, 0, 0, 0, 0, 0}));
  expect_random_source(*source);
}

TEST(Ragged, StepsMayHaveAxesAndPaddingAnyValue) {
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  const std::vector<int64_t> splits = {0, 1, 3};
  const SourcePtr source = data::ragged({.values = Array(values.data(), {3, 2}),
                                         .row_splits = splits,
                                         .longest = 3,
                                         .padding_value = -1});
  EXPECT_EQ(read_rows(*source, 0, {0, 1}),
            (std::vector<float>{1, 2, -1, -1, -1, -1, 3, 4, 5, 6, -1, -1}));
}

TEST(Ragged, LongerRowsAreNamedOrCut) {
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  const std::vector<int64_t> splits = {0, 1, 6};
  data::RaggedOptions options{.values = Array(values), .row_splits = splits, .longest = 3};
  EXPECT_EQ(message_of<DataError>([&] { data::ragged(options); }),
            "x: row 1 has 5 steps, but 3 is the longest that was declared; declare more, or let "
            "longer rows be cut");
  options.too_long = data::TooLong::cut;
  EXPECT_EQ(read_rows(*data::ragged(options), 0, {1}), (std::vector<float>{2, 3, 4}));
}

TEST(Ragged, NamesWhatIsWrong) {
  const std::vector<float> values = {1, NAN};
  const std::vector<int64_t> splits = {0, 2}, falling = {0, 2, 1}, beyond = {0, 3}, none = {0};
  const auto open = [&](const std::vector<int64_t>& some, int64_t longest) {
    return data::ragged({.values = Array(values), .row_splits = some, .longest = longest});
  };
  expect_within(message_of([&] { open(falling, 4); }), "row 1 has the steps 2 up to 1");
  expect_within(message_of([&] { open(beyond, 4); }), "row 0 has the steps 0 up to 3");
  expect_within(message_of([&] { open(none, 4); }), "no row");
  expect_within(message_of([&] { open(splits, 0); }), "longest is 0");
  expect_within(message_of<DataError>([&] { read_rows(*open(splits, 3), 0, {0}); }),
                "x: row 0, column 1 is nan");
}

}  // namespace
}  // namespace snug::testing
