#include <gtest/gtest.h>

#include <cmath>

#include "snug/ops/ops.h"
#include "snug/testing/check_op.h"

namespace snug {
namespace {

using testing::check_op;
using testing::Doubles;
using testing::error_of;

// Along the middle axis of [outer, extent, inner].
Doubles softmax(const Doubles& x, int64_t extent, int64_t inner, bool log) {
  Doubles y(x.size());
  for (size_t first = 0; first < x.size(); first += extent * inner) {
    for (int64_t i = 0; i < inner; ++i) {
      double sum = 0;
      for (int64_t j = 0; j < extent; ++j) sum += std::exp(x[first + j * inner + i]);
      for (int64_t j = 0; j < extent; ++j) {
        const double logarithm = x[first + j * inner + i] - std::log(sum);
        y[first + j * inner + i] = log ? logarithm : std::exp(logarithm);
      }
    }
  }
  return y;
}

void check(const Shape& shape, int axis, int64_t rows = 5) {
  const Shape concrete = shape.at(rows);
  const int from_front = axis < 0 ? axis + shape.rank() : axis;
  const int64_t inner = concrete.part(from_front + 1, shape.rank()).size();
  for (const bool log : {false, true}) {
    SCOPED_TRACE(shape.text() + " along " + std::to_string(axis) + (log ? " log" : ""));
    check_op({.inputs = {{DType::float32, shape}},
              .build =
                  [&](const Values& in) {
                    return log ? ops::log_softmax(in[0], axis) : ops::softmax(in[0], axis);
                  },
              .reference =
                  [&](const std::vector<Doubles>& in) {
                    return softmax(in[0], concrete[axis], inner, log);
                  },
              .result = shape,
              .rows = rows});
  }
}

TEST(Softmax, AlongTheLastAxis) {
  check({kRows, 10}, -1);
  check({kRows, 1}, -1);
  check({kRows, 1001}, 1, 3);
  check({kRows, 17}, -1, 1);
  check({kRows, 2, 3, 7}, 3);
  check({7}, 0);
}

TEST(Softmax, AlongAnotherAxis) {
  check({kRows, 6, 3}, 1);
  check({kRows, 3, 5, 2}, -2);
  check({kRows, 3}, 0);
  check({kRows}, -1);
  check({4, 5}, 0);
}

TEST(Softmax, OnTwoThreads) {
  check({kRows, 66, 100}, 2);
  check({kRows, 66, 100}, 1);
}

TEST(Softmax, LargeNumbersDoNotOverflow) {
  Graph graph;
  const Value x = graph.input("x", {DType::float32, {kRows, 2}});
  const auto run = [&](Value y) {
    const std::vector<testing::Bytes> in = {testing::to_bytes({1e4, 0, -1e30, 5}, DType::float32)};
    return testing::to_doubles(testing::run_graph(graph, {y}, in, {.rows = 2})[0], DType::float32);
  };
  EXPECT_EQ(run(ops::softmax(x)), (Doubles{1, 0, 0, 1}));
  EXPECT_EQ(run(ops::log_softmax(x)), (Doubles{0, -1e4, double(-1e30f), 0}));
}

TEST(Softmax, Refuses) {
  Graph graph;
  const Value scalar = graph.input("s", {DType::float32, {}});
  const Value x = graph.input("x", {DType::float32, {kRows, 2}});
  const Value i = graph.input("i", {DType::int32, {kRows, 2}});
  EXPECT_EQ(error_of([&] { ops::softmax(scalar); }),
            "softmax: the value is a single number; it needs an axis to run along");
  EXPECT_EQ(error_of([&] { ops::log_softmax(x, 2); }),
            "log_softmax: axis 2 is outside a value of 2 axes; axes go from -2 to 1");
  EXPECT_EQ(error_of([&] { ops::softmax(i); }),
            "softmax: expected float32, got int32[rows, 2]; cast it first");
  EXPECT_EQ(error_of([&] { ops::softmax(Value()); }), "softmax: the value is empty");
}

}  // namespace
}  // namespace snug
