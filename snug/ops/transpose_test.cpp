#include <gtest/gtest.h>

#include <algorithm>

#include "snug/ops/ops.h"
#include "snug/testing/check_op.h"

namespace snug {
namespace {

using testing::check_op;
using testing::Doubles;
using testing::error_of;

Doubles transposed(const Doubles& x, const Shape& from, const std::vector<int>& axes) {
  Doubles y;
  std::vector<int64_t> index(axes.size());
  for (size_t i = 0; i < x.size(); ++i) {
    int64_t at = 0;
    for (int axis = 0; axis < from.rank(); ++axis) {
      const auto k = std::ranges::find(axes, axis) - axes.begin();
      at = at * from[axis] + index[k];
    }
    y.push_back(x[at]);
    for (int k = from.rank() - 1; k >= 0; --k) {
      if (++index[k] < from[axes[k]]) break;
      index[k] = 0;
    }
  }
  return y;
}

void check(const Shape& from, const std::vector<int>& axes, DType dtype = DType::float32) {
  Shape to;
  for (const int axis : axes) to.push_back(from.extent(axis));
  SCOPED_TRACE(from.text() + " to " + to.text());
  check_op({.inputs = {{dtype, from}},
            .build = [&](const Values& in) { return ops::transpose(in[0], axes); },
            .reference = [&](const auto& in) { return transposed(in[0], from.at(5), axes); },
            .result = to,
            .has_gradient = is_float(dtype)});
}

TEST(Transpose, PermutesAxes) {
  check({3, 4}, {1, 0});
  check({2, 3, 4}, {2, 0, 1});
  check({2, 3, 4}, {1, 2, 0}, DType::int32);
  check({2, 3, 4, 5}, {0, 2, 1, 3}, DType::boolean);
  check({2, 3}, {1, 0}, DType::int64);
  check({kRows, 3, 4}, {0, 2, 1});
  check({Extent(2, true), 3, 2, 2}, {0, 3, 1, 2});
  check({260, 260}, {1, 0});
}

TEST(Transpose, MovesRows) {
  check({kRows, 3}, {1, 0});
  check({kRows, 3, 4}, {1, 0, 2});
  check({3, kRows}, {1, 0});

  Graph graph;
  const Value square = graph.input("x", {DType::float32, {kRows, kRows}});
  const Node& node = *ops::transpose(square, {1, 0}).producer();
  EXPECT_EQ(node.op().rows(node.input_types()), Rows::coupled);
}

TEST(Transpose, TakesNegativeAxesAndDropsTheIdentity) {
  Graph graph;
  const Value x = graph.input("x", {DType::float32, {kRows, 3, 4}});
  EXPECT_EQ(ops::transpose(x, {0, -1, 1}).shape(), (Shape{kRows, 4, 3}));
  EXPECT_EQ(ops::transpose(x, {0, 1, -1}), x);
}

TEST(Transpose, NamesWhatIsNoPermutation) {
  Graph graph;
  const Value x = graph.input("x", {DType::float32, {2, 3}});
  EXPECT_EQ(error_of([&] { ops::transpose(x, {0}); }),
            "transpose: axes [0] of [2, 3]: name each of its 2 axes once");
  EXPECT_EQ(error_of([&] {
              ops::transpose(x, {1, 1});
            }),
            "transpose: axes [1, 1] of [2, 3]: name each of its 2 axes once");
  EXPECT_EQ(error_of([&] {
              ops::transpose(x, {0, 2});
            }),
            "transpose: axis 2 is outside a value of 2 axes; axes go from -2 to 1");
}

}  // namespace
}  // namespace snug
