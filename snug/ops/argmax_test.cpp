#include <gtest/gtest.h>

#include <cmath>

#include "snug/ops/ops.h"
#include "snug/testing/check_op.h"

namespace snug {
namespace {

using testing::check_op;
using testing::Doubles;
using testing::error_of;

void check(const Shape& shape, int axis, const Shape& result, int64_t rows = 5) {
  SCOPED_TRACE(shape.text() + " along " + std::to_string(axis));
  const Shape x = shape.at(rows);
  const int64_t extent = x[axis], inner = x.part((axis + x.rank()) % x.rank() + 1, x.rank()).size();
  check_op({.inputs = {{DType::float32, shape}},
            .build = [&](const Values& in) { return ops::argmax(in[0], axis); },
            .reference =
                [&](const std::vector<Doubles>& in) {
                  Doubles y;
                  for (size_t first = 0; first < in[0].size(); first += extent * inner) {
                    for (int64_t i = 0; i < inner; ++i) {
                      int64_t best = 0;
                      for (int64_t j = 1; j < extent; ++j) {
                        const bool larger =
                            in[0][first + j * inner + i] > in[0][first + best * inner + i];
                        if (larger) best = j;
                      }
                      y.push_back(static_cast<double>(best));
                    }
                  }
                  return y;
                },
            .result = result,
            .rows = rows,
            .has_gradient = false});
}

TEST(ArgMax, AlongEachAxis) {
  check({kRows, 10}, -1, {kRows});
  check({kRows, 10}, 1, {kRows}, 1);
  check({kRows, 1}, 1, {kRows});
  check({kRows, 3, 5}, 1, {kRows, 5});
  check({kRows, 3, 5, 2}, -2, {kRows, 3, 2});
  check({kRows, 3}, 0, {3});
  check({kRows, 7000}, 1, {kRows});
  check({9}, 0, {});
}

TEST(ArgMax, OfEqualsTheFirstAndNanBeforeAll) {
  const double nan = std::nan("");
  const struct {
    Shape shape;
    int axis;
    Doubles x, y;
  } cases[] = {{{2, 3}, 1, {1, 3, 3, nan, 9, nan}, {1, 0}},
               {{3, 2}, 0, {1, 3, 4, nan, 4, nan}, {1, 1}}};
  for (const auto& c : cases) {
    Graph graph;
    const Value in = graph.input("x", {DType::float32, c.shape});
    const auto y = testing::run_graph(graph, {ops::argmax(in, c.axis)},
                                      {testing::to_bytes(c.x, DType::float32)}, {});
    EXPECT_EQ(testing::to_doubles(y[0], DType::int32), c.y);
  }
}

TEST(ArgMax, Refuses) {
  Graph graph;
  const Value x = graph.input("x", {DType::float32, {kRows, 2}});
  const Value none = graph.input("none", {DType::float32, {kRows, 0}});
  const Value i = graph.input("i", {DType::int32, {kRows}});
  EXPECT_EQ(error_of([&] { ops::argmax(x, 2); }),
            "argmax: axis 2 is outside a value of 2 axes; axes go from -2 to 1");
  EXPECT_EQ(error_of([&] { ops::argmax(none); }), "argmax: axis -1 of [rows, 0] has no elements");
  EXPECT_EQ(error_of([&] { ops::argmax(i); }),
            "argmax: expected float32, got int32[rows]; cast it first");
  EXPECT_EQ(error_of([&] { ops::argmax(Value()); }), "argmax: the value is empty");
}

}  // namespace
}  // namespace snug
