#include <gtest/gtest.h>

#include "snug/ops/ops.h"
#include "snug/testing/check_op.h"

namespace snug {
namespace {

using testing::check_op;
using testing::Doubles;
using testing::error_of;

Doubles broadcast_of(const Doubles& x, const Shape& from, const Shape& to) {
  Doubles y(to.size());
  for (int64_t i = 0; i < to.size(); ++i) {
    int64_t rest = i, stride = 1, at = 0;
    for (int back = 1; back <= to.rank(); ++back) {
      const int64_t index = rest % to[-back];
      rest /= to[-back];
      if (back > from.rank()) continue;
      if (from[-back] != 1) at += index * stride;
      stride *= from[-back];
    }
    y[i] = x[at];
  }
  return y;
}

void check(const Shape& from, const Shape& to, DType dtype = DType::float32) {
  SCOPED_TRACE(from.text() + " to " + to.text());
  check_op({.inputs = {{dtype, from}},
            .build = [&](const Values& in) { return ops::broadcast_to(in[0], to); },
            .reference = [&](const auto& in) { return broadcast_of(in[0], from.at(5), to.at(5)); },
            .result = to,
            .has_gradient = is_float(dtype)});
}

TEST(BroadcastTo, RepeatsAxes) {
  check({}, {3});
  check({3}, {2, 3});
  check({2, 1}, {2, 3});
  check({1, 3, 1}, {4, 3, 2});
  check({2, 1, 1}, {3, 2, 4, 1});
  check({kRows, 1}, {kRows, 3});
  check({kRows, 3}, {kRows, 3});
  check({Extent(2, true), 1, 3}, {Extent(2, true), 2, 3});
  check({kRows}, {2, kRows});
  check({2, 1}, {2, 3}, DType::int32);
  check({kRows, 1}, {kRows, 3}, DType::boolean);
  check({1, 260}, {260, 260});
}

TEST(BroadcastTo, RowsComeFromAnInputOfTheGraph) {
  for (const Shape& like : {Shape{kRows, 2}, Shape{Extent(3, true)}}) {
    check_op({.inputs = {{DType::float32, {3}}, {DType::float32, like}},
              .build =
                  [](const Values& in) {
                    return ops::broadcast_to(in[0], {kRows, 3});
                  },
              .reference =
                  [](const auto& in) {
                    return broadcast_of(in[0], {3}, {5, 3});
                  },
              .result = {kRows, 3},
              .may_hide_nan = true});
  }
}

TEST(BroadcastTo, AlongRowsFromRowsIsCoupled) {
  Graph graph;
  const Value x = graph.input("x", {DType::float32, {kRows}});
  const Node& node = *ops::broadcast_to(x, {kRows, kRows}).producer();
  EXPECT_EQ(node.op().rows(node.input_types()), Rows::coupled);
}

TEST(BroadcastTo, NamesWhatDoesNotFit) {
  Graph graph;
  const Value x = graph.input("x", {DType::float32, {2, 3}});
  const auto error = [&](const Shape& shape) {
    return error_of([&] { ops::broadcast_to(x, shape); });
  };
  EXPECT_EQ(error({2, 4}),
            "broadcast_to: the shapes [2, 3] and [2, 4] do not broadcast: axis 1 is 3 and 4; they "
            "must be equal or 1");
  EXPECT_EQ(error({2, 1}),
            "broadcast_to: [2, 3] cannot become [2, 1]; only axes of 1 and new axes repeat");
  EXPECT_EQ(error({3}),
            "broadcast_to: [2, 3] cannot become [3]; only axes of 1 and new axes repeat");
  EXPECT_EQ(error({kRows, 2, 3}),
            "broadcast_to: [rows, 2, 3] has rows, but no input of the graph has; give it such an "
            "input");
}

}  // namespace
}  // namespace snug
