#include <gtest/gtest.h>

#include <cmath>

#include "snug/ops/elementwise.h"
#include "snug/ops/ops.h"
#include "snug/testing/check_op.h"

namespace snug {
namespace {

using testing::check_op;
using testing::Doubles;
using testing::error_of;

struct BinaryCase {
  const char* name;
  Value (*build)(Value, Value);
  double (*reference)(double, double);
  double low = -2, high = 2;
  bool may_hide_nan = false;
};

const BinaryCase kCases[] = {
    {"add", ops::add, [](double a, double b) { return a + b; }},
    {"subtract", ops::subtract, [](double a, double b) { return a - b; }},
    {"multiply", ops::multiply, [](double a, double b) { return a * b; }},
    {"divide", ops::divide, [](double a, double b) { return a / b; }, 0.5, 3},
    {"divide_no_nan", ops::divide_no_nan, [](double a, double b) { return a / b; }, 0.5, 3},
    {"power", ops::power, [](double a, double b) { return std::pow(a, b); }, 0.5, 2},
    {"maximum", ops::maximum, [](double a, double b) { return std::max(a, b); }},
    {"minimum", ops::minimum, [](double a, double b) { return std::min(a, b); }},
    {"squared_difference", ops::squared_difference,
     [](double a, double b) { return (a - b) * (a - b); }},
};

// The index of the operand's element that result element i reads; shapes at 5 rows.
int64_t source(const Shape& operand, const Shape& result, int64_t i) {
  int64_t index = 0, stride = 1;
  for (int back = 1; back <= result.rank(); ++back) {
    const int64_t at = i % result[-back];
    i /= result[-back];
    if (back > operand.rank()) continue;
    if (operand[-back] != 1) index += at * stride;
    stride *= operand[-back];
  }
  return index;
}

void check(const BinaryCase& c, const Shape& a, const Shape& b, const Shape& y) {
  SCOPED_TRACE(std::string(c.name) + " " + a.text() + " " + b.text());
  check_op({.inputs = {{DType::float32, a}, {DType::float32, b}},
            .build = [&](const Values& in) { return c.build(in[0], in[1]); },
            .reference =
                [&](const std::vector<Doubles>& in) {
                  Doubles result;
                  for (int64_t i = 0; i < y.at(5).size(); ++i) {
                    result.push_back(c.reference(in[0][source(a.at(5), y.at(5), i)],
                                                 in[1][source(b.at(5), y.at(5), i)]));
                  }
                  return result;
                },
            .result = y,
            .low = c.low,
            .high = c.high});
}

TEST(Binary, EachInEveryFormOfBroadcasting) {
  for (const BinaryCase& c : kCases) {
    check(c, {kRows, 3}, {kRows, 3}, {kRows, 3});
    check(c, {kRows, 3}, {3}, {kRows, 3});
    check(c, {3}, {kRows, 3}, {kRows, 3});
    check(c, {kRows, 3}, {}, {kRows, 3});
    check(c, {1}, {kRows, 3}, {kRows, 3});
    check(c, {kRows, 1}, {kRows, 3}, {kRows, 3});
    check(c, {kRows, 2, 1, 4}, {3, 1}, {kRows, 2, 3, 4});
    check(c, {2, 3}, {2, 3}, {2, 3});
  }
}

TEST(Binary, DivideNoNanGivesZeroForZero) {
  Graph graph;
  const Value a = graph.input("a", {DType::float32, {2}});
  const Value b = graph.input("b", {DType::float32, {2}});
  const auto bytes = [](Doubles values) { return testing::to_bytes(values, DType::float32); };
  const auto y =
      testing::run_graph(graph, {ops::divide_no_nan(a, b)}, {bytes({1, 6}), bytes({0, 2})}, {});
  EXPECT_EQ(testing::to_doubles(y[0], DType::float32), (Doubles{0, 3}));
}

TEST(Binary, NamesBothTypes) {
  Graph graph;
  const Value a = graph.input("a", {DType::float32, {kRows, 3}});
  const Value b = graph.input("b", {DType::int32, {3}});
  EXPECT_EQ(error_of([&] { ops::add(a, b); }),
            "add: expected float32 values, got float32[rows, 3] and int32[3]; cast them first");
  EXPECT_EQ(error_of([&] { ops::add(Value(), b); }), "add: the first value is empty");
  EXPECT_EQ(error_of([&] {
              ops::multiply(a, graph.input("c", {DType::float32, {kRows, 4}}));
            }),
            "multiply: the shapes [rows, 3] and [rows, 4] do not broadcast: axis 1 is 3 and 4; "
            "they must be equal or 1");
}

TEST(Elementwise, ALoopReadsAFewInputsOfFloats) {
  Graph graph;
  const Value a = graph.input("a", {DType::float32, {3}});
  const auto* loop = ops::add(a, a).producer()->op().elementwise();
  ASSERT_NE(loop, nullptr);
  const auto message = [&](const Types& in) {
    return error_of([&] { ops::elementwise_kernel(*loop, in, {3}, {}); });
  };
  EXPECT_EQ(message(Types(ops::kMostElementwiseInputs + 1, {DType::float32, {3}})),
            "an element-wise loop over 9 inputs: it reads at most 8, all of them float32");
  EXPECT_EQ(message({{DType::int32, {3}}}),
            "an element-wise loop over 1 inputs: it reads at most 8, all of them float32");
}

}  // namespace
}  // namespace snug
