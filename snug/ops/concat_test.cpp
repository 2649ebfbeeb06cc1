#include <gtest/gtest.h>

#include "snug/autodiff/gradients.h"
#include "snug/ops/ops.h"
#include "snug/testing/check_op.h"

namespace snug {
namespace {

using testing::check_op;
using testing::Doubles;
using testing::error_of;

Doubles joined(const std::vector<Doubles>& in, const std::vector<Shape>& shapes, int axis) {
  int64_t outer = 1;
  for (int k = 0; k < axis; ++k) outer *= shapes[0][k];
  Doubles y;
  for (int64_t o = 0; o < outer; ++o) {
    for (size_t i = 0; i < in.size(); ++i) {
      const int64_t inner = shapes[i].size() / outer;
      y.insert(y.end(), in[i].begin() + o * inner, in[i].begin() + (o + 1) * inner);
    }
  }
  return y;
}

void check(const std::vector<Shape>& shapes, int axis, const Shape& result,
           DType dtype = DType::float32) {
  SCOPED_TRACE(result.text());
  Types types;
  std::vector<Shape> concrete;
  for (const Shape& shape : shapes) {
    types.push_back({dtype, shape});
    concrete.push_back(shape.at(5));
  }
  check_op({.inputs = types,
            .build = [&](const Values& in) { return ops::concat(in, axis); },
            .reference = [&](const auto& in) { return joined(in, concrete, axis); },
            .result = result,
            .has_gradient = is_float(dtype)});
}

TEST(Concat, JoinsAlongAnAxis) {
  check({{2, 3}, {4, 3}}, 0, {6, 3});
  check({{2, 3}, {2, 1}, {2, 2}}, 1, {2, 6});
  check({{2, 3, 4}, {2, 1, 4}}, 1, {2, 4, 4});
  check({{3}, {2}}, 0, {5}, DType::int32);
  check({{2, 2}, {2, 3}}, 1, {2, 5}, DType::boolean);
  check({{kRows, 3}, {kRows, 2}}, 1, {kRows, 5});
  check({{kRows, 2, 3}, {kRows, 2, 1}}, 2, {kRows, 2, 4});
  check({{kRows, 2, 3}, {kRows, 2, 3}}, 1, {kRows, 4, 3});
  check({{10, 7000}, {10, 8000}}, 1, {10, 15000});
}

TEST(Concat, JoinsRows) {
  check({{kRows, 3}, {Extent(2, true), 3}}, 0, {Extent(3, true), 3});
  check({{2, kRows}, {2, kRows}}, 1, {2, Extent(2, true)});
}

TEST(Concat, OfOneValueIsThatValue) {
  Graph graph;
  const Value x = graph.input("x", {DType::float32, {2}});
  EXPECT_EQ(ops::concat({x}, 0), x);
}

TEST(Concat, AValueWithoutElementsHasNoGradient) {
  Graph graph;
  const Value a = graph.input("a", {DType::float32, {kRows, 3}});
  const Value none = graph.input("none", {DType::float32, {kRows, 0}});
  const Value y = ops::concat({a, none}, 1);
  const Values found = gradients(y, graph.input("g", y.type()), {a, none});
  EXPECT_EQ(found[0].type(), a.type());
  EXPECT_FALSE(found[1]);
}

TEST(Concat, NamesWhatDoesNotFit) {
  Graph graph;
  const Value a = graph.input("a", {DType::float32, {2, 3}});
  const Value b = graph.input("b", {DType::float32, {4, 5}});
  const Value c = graph.input("c", {DType::int32, {2, 3}});
  const Value d = graph.input("d", {DType::float32, {kRows, 3}});
  const Value e = graph.input("e", {DType::float32, {2}});
  EXPECT_EQ(error_of([] { ops::concat({}, 0); }),
            "concat: no values were given; give at least one");
  EXPECT_EQ(error_of([&] {
              ops::concat({a, b}, 1);
            }),
            "concat: input 1 is float32[4, 5], those before it make float32[2, 3]; they may differ "
            "along axis 1 only");
  EXPECT_EQ(error_of([&] {
              ops::concat({a, c}, 1);
            }),
            "concat: input 1 is int32[2, 3], those before it make float32[2, 3]; they may differ "
            "along axis 1 only");
  EXPECT_EQ(error_of([&] {
              ops::concat({a, e}, 0);
            }),
            "concat: input 1 is float32[2], those before it make float32[2, 3]; they may differ "
            "along axis 0 only");
  EXPECT_EQ(error_of([&] {
              ops::concat({a, d}, 0);
            }),
            "concat: float32[2, 3] and float32[rows, 3] along axis 0: rows and a fixed number do "
            "not add up");
}

}  // namespace
}  // namespace snug
