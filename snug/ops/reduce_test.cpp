#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "snug/ops/ops.h"
#include "snug/ops/sum_to.h"
#include "snug/testing/check_op.h"

namespace snug {
namespace {

using testing::check_op;
using testing::Doubles;
using testing::error_of;

struct ReduceCase {
  const char* name;
  Value (*build)(Value, const ops::ReduceOptions&);
  double first;
  double (*join)(double, double);
};

const ReduceCase kCases[] = {
    {"sum", ops::sum, 0, [](double a, double b) { return a + b; }},
    {"mean", ops::mean, 0, [](double a, double b) { return a + b; }},
    {"max", ops::max, -HUGE_VAL, [](double a, double b) { return std::max(a, b); }},
    {"min", ops::min, HUGE_VAL, [](double a, double b) { return std::min(a, b); }},
    {"product", ops::product, 1, [](double a, double b) { return a * b; }},
};

// x is at its rows; `axes` are counted from the front.
Doubles reduced(const ReduceCase& c, const Doubles& x, const Shape& shape,
                const std::vector<int>& axes) {
  const auto is_reduced = [&](int axis) { return axes.empty() || std::ranges::count(axes, axis); };
  int64_t results = 1;
  for (int axis = 0; axis < shape.rank(); ++axis) results *= is_reduced(axis) ? 1 : shape[axis];
  Doubles y(results, c.first);
  for (int64_t i = 0; i < shape.size(); ++i) {
    int64_t rest = i, to = 0, stride = 1;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      const int64_t at = rest % shape[axis];
      rest /= shape[axis];
      if (is_reduced(axis)) continue;
      to += at * stride;
      stride *= shape[axis];
    }
    y[to] = c.join(y[to], x[i]);
  }
  const auto count = static_cast<double>(shape.size() / results);
  if (c.build == ops::mean) {
    for (double& value : y) value /= count;
  }
  return y;
}

void check(const ReduceCase& c, const Shape& x, const std::vector<int>& axes, bool keepdims,
           const Shape& y, int64_t rows = 5) {
  SCOPED_TRACE(std::string(c.name) + " " + x.text() + " to " + y.text());
  check_op(
      {.inputs = {{DType::float32, x}},
       .build =
           [&](const Values& in) { return c.build(in[0], {.axes = axes, .keepdims = keepdims}); },
       .reference =
           [&](const std::vector<Doubles>& in) {
             std::vector<int> from_front;
             for (const int axis : axes) from_front.push_back(axis < 0 ? axis + x.rank() : axis);
             return reduced(c, in[0], x.at(rows), from_front);
           },
       .result = y,
       .rows = rows});
}

TEST(Reduce, AlongAxesThatAreNotRows) {
  for (const ReduceCase& c : kCases) {
    check(c, {kRows, 7}, {-1}, false, {kRows});
    check(c, {kRows, 7}, {1}, true, {kRows, 1}, 1);
    check(c, {kRows, 3, 5}, {1}, false, {kRows, 5});
    check(c, {kRows, 4, 3, 5}, {1, 2}, false, {kRows, 5}, 3);
    check(c, {kRows, 4, 3, 2}, {3, 1}, true, {kRows, 1, 3, 1});
    check(c, {3, 4, 2}, {0, 2}, false, {4});
    check(c, {2, 3, 2, 3, 2, 2}, {0, 2, 4}, false, {3, 3, 2});
    check(c, {2, 3, 2, 3, 2}, {1, 3}, false, {2, 2, 2});
    check(c, {2, 2, 2, 3, 2, 1, 2, 2}, {0, 2, 4, 6}, false, {2, 3, 1, 2});
    check(c, {2, 2, 2, 3, 2, 2, 2, 2}, {0, 2, 4, 6}, false, {2, 3, 2, 2});
    check(c, {1, 2, 1}, {0, 2}, false, {2});
    check(c, {9}, {}, false, {});
    check(c, {}, {}, false, {});
  }
}

TEST(Reduce, AlongRows) {
  for (const ReduceCase& c : kCases) {
    if (c.build == ops::mean) continue;
    check(c, {kRows, 7}, {0}, false, {7});
    check(c, {kRows, 7}, {0}, true, {1, 7}, 1);
    check(c, {kRows}, {}, false, {});
    check(c, {kRows, 3, 2}, {}, true, {1, 1, 1});
    check(c, {kRows, 3, 2, 5}, {0, 1, 2}, false, {5}, 4);
    check(c, {kRows, 3, 2, 5}, {0, 2}, false, {3, 5});
  }
}

TEST(Reduce, OnTwoThreads) {
  check(kCases[0], {kRows, 70, 120}, {1}, false, {kRows, 120});
  check(kCases[0], {kRows, 70, 120}, {0, 2}, false, {70});
  check(kCases[0], {300, 120}, {}, false, {});
  check(kCases[2], {300, 120}, {0}, false, {120});
  check(kCases[2], {300, 120}, {1}, false, {300});
}

// Of weights, too, which no plan cuts: what a reproducible run adds up must not show the machine.
TEST(Reduce, SumsDoNotShowTheThreads) {
  for (const Shape& shape :
       {Shape{600 * 200}, Shape{600, 200}, Shape{600, 10, 20}, Shape{600, 700}, Shape{5, 90000}}) {
    const auto summed = [&](int threads) {
      Graph graph;
      const Value x = graph.input("x", {DType::float32, shape});
      const Value all = ops::sum(ops::square(x)), columns = ops::sum(x, {.axes = {0}});
      const Value product = ops::product(ops::add_scalar(ops::multiply_scalar(x, 1e-3F), 1));
      Doubles values;
      for (int64_t i = 0; i < shape.size(); ++i) values.push_back(std::sin(0.1 * i));
      return testing::run_graph(graph, {all, columns, product},
                                {testing::to_bytes(values, DType::float32)}, {.threads = threads});
    };
    const auto one = summed(1);
    for (const int threads : {2, 3, 4, 16}) EXPECT_EQ(summed(threads), one) << shape.text();
  }
}

TEST(Reduce, Refuses) {
  Graph graph;
  const Value x = graph.input("x", {DType::float32, {kRows, 4}});
  const Value i = graph.input("i", {DType::int32, {kRows}});
  EXPECT_EQ(
      error_of([&] { ops::mean(x); }),
      "mean: axis 0 of [rows, 4] is rows, whose number is known when the step runs; divide the "
      "sum by tracer.rows(), which in a trace is current_tracer().rows()");
  EXPECT_EQ(error_of([&] { ops::sum(x, {.axes = {2}}); }),
            "sum: axis 2 is outside a value of 2 axes; axes go from -2 to 1");
  EXPECT_EQ(error_of([&] {
              ops::max(x, {.axes = {1, -1}});
            }),
            "max: axis 1 of [rows, 4] is given twice; give each axis once");
  EXPECT_EQ(error_of([&] { ops::product(i); }),
            "product: expected float32, got int32[rows]; cast it first");
  EXPECT_EQ(error_of([&] { ops::min(Value()); }), "min: the value is empty");
}

TEST(SumTo, AddsUpOverBroadcastAxes) {
  const struct {
    Shape from, to;
    std::vector<int> axes;
  } cases[] = {{{kRows, 3, 4}, {4}, {0, 1}},        {{kRows, 3, 4}, {3, 1}, {0, 2}},
               {{kRows, 3, 4}, {kRows, 1, 4}, {1}}, {{kRows, 3}, {}, {0, 1}},
               {{kRows, 3}, {1, 3}, {0}},           {{2, 3}, {1, 1}, {0, 1}}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.from.text() + " to " + c.to.text());
    check_op({.inputs = {{DType::float32, c.from}},
              .build = [&](const Values& in) { return ops::sum_to(in[0], c.to); },
              .reference =
                  [&](const std::vector<Doubles>& in) {
                    return reduced(kCases[0], in[0], c.from.at(5), c.axes);
                  },
              .result = c.to});
  }
  Graph graph;
  const Value x = graph.input("x", {DType::float32, {kRows, 4}});
  EXPECT_EQ(ops::sum_to(x, x.shape()), x);
}

}  // namespace
}  // namespace snug
