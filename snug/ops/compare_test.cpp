#include <gtest/gtest.h>

#include <cmath>
#include <span>

#include "snug/ops/ops.h"
#include "snug/testing/check_op.h"

namespace snug {
namespace {

using testing::check_op;
using testing::Doubles;
using testing::error_of;

using Build = Value (*)(Value, Value);
using Reference = bool (*)(double, double);

int64_t place(int64_t i, const Shape& operand, const Shape& to) {
  int64_t stride = 1, at = 0;
  for (int back = 1; back <= operand.rank(); ++back) {
    if (operand[-back] != 1) at += i % to[-back] * stride;
    stride *= operand[-back];
    i /= to[-back];
  }
  return at;
}

struct ShapeCase {
  Shape a, b, y;
};
const ShapeCase kShapes[] = {
    {{}, {}, {}},
    {{5}, {5}, {5}},
    {{kRows, 3}, {kRows, 3}, {kRows, 3}},
    {{kRows, 3}, {}, {kRows, 3}},
    {{}, {kRows, 3}, {kRows, 3}},
    {{kRows, 3}, {3}, {kRows, 3}},
    {{kRows, 1}, {kRows, 3}, {kRows, 3}},
    {{2, 1, 3}, {4, 1}, {2, 4, 3}},
    {{Extent(2, true), 2}, {Extent(2, true), 2}, {Extent(2, true), 2}},
};

void check(Build build, Reference reference, DType dtype,
           std::span<const ShapeCase> all = kShapes) {
  for (const ShapeCase& shapes : all) {
    SCOPED_TRACE(shapes.a.text() + " and " + shapes.b.text());
    check_op({.inputs = {{dtype, shapes.a}, {dtype, shapes.b}},
              .build = [&](const Values& in) { return build(in[0], in[1]); },
              .reference =
                  [&](const auto& in) {
                    const Shape y = shapes.y.at(5);
                    Doubles result;
                    for (int64_t i = 0; i < y.size(); ++i) {
                      result.push_back(reference(in[0][place(i, shapes.a.at(5), y)],
                                                 in[1][place(i, shapes.b.at(5), y)]));
                    }
                    return result;
                  },
              .result = shapes.y,
              .low = -1e-3,
              .high = 1e-3,
              .has_gradient = false});
  }
}

struct Comparison {
  const char* name;
  Build build;
  Reference reference;
};
const Comparison kComparisons[] = {
    {"equal", ops::equal, [](double a, double b) { return a == b; }},
    {"not_equal", ops::not_equal, [](double a, double b) { return a != b; }},
    {"less", ops::less, [](double a, double b) { return a < b; }},
    {"less_equal", ops::less_equal, [](double a, double b) { return a <= b; }},
    {"greater", ops::greater, [](double a, double b) { return a > b; }},
    {"greater_equal", ops::greater_equal, [](double a, double b) { return a >= b; }},
};

TEST(Compare, MatchesReference) {
  for (const Comparison& comparison : kComparisons) {
    SCOPED_TRACE(comparison.name);
    check(comparison.build, comparison.reference, DType::float32);
    check(comparison.build, comparison.reference, DType::int32);
  }
}

TEST(Compare, LargeValuesOnTwoThreads) {
  const ShapeCase large[] = {{{400, 300}, {400, 300}, {400, 300}}, {{400, 1}, {300}, {400, 300}}};
  check(
      ops::less, [](double a, double b) { return a < b; }, DType::float32, large);
}

TEST(Compare, OfEqualsAndNan) {
  Graph graph;
  const Value a = graph.input("a", {DType::float32, {3}});
  const Value b = graph.input("b", {DType::float32, {3}});
  const Doubles left = {1, std::nan(""), 0}, right = {1, std::nan(""), -0.0};
  Values results;
  for (const Comparison& comparison : kComparisons) results.push_back(comparison.build(a, b));
  const auto bytes = testing::run_graph(
      graph, results,
      {testing::to_bytes(left, DType::float32), testing::to_bytes(right, DType::float32)}, {});
  for (size_t i = 0; i < results.size(); ++i) {
    SCOPED_TRACE(kComparisons[i].name);
    for (size_t k = 0; k < left.size(); ++k) {
      EXPECT_EQ(testing::to_doubles(bytes[i], DType::boolean)[k],
                kComparisons[i].reference(left[k], right[k]));
    }
  }
}

TEST(Logic, MatchesReference) {
  check(
      ops::logical_and, [](double a, double b) { return a != 0 && b != 0; }, DType::boolean);
  check(
      ops::logical_or, [](double a, double b) { return a != 0 || b != 0; }, DType::boolean);
  for (const Shape& shape : {Shape{}, Shape{7}, Shape{kRows, 3}}) {
    check_op({.inputs = {{DType::boolean, shape}},
              .build = [](const Values& in) { return ops::logical_not(in[0]); },
              .reference =
                  [](const auto& in) {
                    Doubles y = in[0];
                    for (double& element : y) element = 1 - element;
                    return y;
                  },
              .result = shape,
              .has_gradient = false});
  }
}

TEST(Compare, NamesWhatDoesNotFit) {
  Graph graph;
  const Value x = graph.input("x", {DType::float32, {2}});
  const Value y = graph.input("y", {DType::float32, {3}});
  const Value i = graph.input("i", {DType::int32, {2}});
  const Value c = graph.input("c", {DType::boolean, {2}});
  EXPECT_EQ(error_of([&] { ops::less(x, i); }),
            "less: expected two float32 or two int32 values, got float32[2] and int32[2]; cast "
            "them first");
  EXPECT_EQ(error_of([&] { ops::equal(c, c); }),
            "equal: expected two float32 or two int32 values, got bool[2] and bool[2]; cast them "
            "first");
  EXPECT_EQ(error_of([&] { ops::less(x, y); }),
            "less: the shapes [2] and [3] do not broadcast: axis 0 is 2 and 3; they must be equal "
            "or 1");
  EXPECT_EQ(error_of([&] { ops::logical_and(c, x); }),
            "logical_and: expected bool values, got bool[2] and float32[2]; compare or cast them "
            "first");
  EXPECT_EQ(error_of([&] { ops::logical_not(x); }),
            "logical_not: expected a bool value, got float32[2]; compare or cast it first");
}

}  // namespace
}  // namespace snug
