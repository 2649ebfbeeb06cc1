#include <gtest/gtest.h>

#include "snug/ops/ops.h"
#include "snug/testing/check_op.h"

namespace snug {
namespace {

using testing::check_op;
using testing::Doubles;
using testing::error_of;

// Element i of a result of shape `to`, in an operand that was broadcast to it.
int64_t place(int64_t i, const Shape& operand, const Shape& to) {
  int64_t stride = 1, at = 0;
  for (int back = 1; back <= operand.rank(); ++back) {
    if (operand[-back] != 1) at += i % to[-back] * stride;
    stride *= operand[-back];
    i /= to[-back];
  }
  return at;
}

void check(const Shape& c, const Shape& a, const Shape& b, const Shape& to,
           DType dtype = DType::float32) {
  SCOPED_TRACE(c.text() + " ? " + a.text() + " : " + b.text());
  check_op({.inputs = {{DType::boolean, c}, {dtype, a}, {dtype, b}},
            .build = [](const Values& in) { return ops::where(in[0], in[1], in[2]); },
            .reference =
                [&](const auto& in) {
                  const Shape y = to.at(5);
                  Doubles result;
                  for (int64_t i = 0; i < y.size(); ++i) {
                    const bool first = in[0][place(i, c.at(5), y)] != 0;
                    result.push_back(first ? in[1][place(i, a.at(5), y)]
                                           : in[2][place(i, b.at(5), y)]);
                  }
                  return result;
                },
            .result = to,
            .has_gradient = is_float(dtype),
            .may_hide_nan = true});
}

TEST(Where, ChoosesElementByElement) {
  for (const DType dtype :
       {DType::float32, DType::int32, DType::int64, DType::uint8, DType::boolean}) {
    check({}, {}, {}, {}, dtype);
    check({7}, {7}, {7}, {7}, dtype);
    check({kRows, 3}, {kRows, 3}, {kRows, 3}, {kRows, 3}, dtype);
    check({kRows, 1}, {kRows, 3}, {}, {kRows, 3}, dtype);
    check({kRows, 3}, {3}, {kRows, 1}, {kRows, 3}, dtype);
  }
  check({kRows, 3}, {}, {}, {kRows, 3});
  check({3, 1, 2}, {4, 1}, {1, 2}, {3, 4, 2});
  check({1}, {2, 3}, {3}, {2, 3});
  check({Extent(2, true), 3}, {Extent(2, true), 1}, {3}, {Extent(2, true), 3});
  check({400, 300}, {400, 300}, {}, {400, 300}, DType::int32);
  check({400, 1}, {400, 300}, {300}, {400, 300}, DType::int32);
}

TEST(Where, NamesWhatDoesNotFit) {
  Graph graph;
  const Value c = graph.input("c", {DType::boolean, {2}});
  const Value x = graph.input("x", {DType::float32, {2}});
  const Value y = graph.input("y", {DType::float32, {3}});
  const Value i = graph.input("i", {DType::int32, {2}});
  const Value d = graph.input("d", {DType::float64, {2}});
  EXPECT_EQ(error_of([&] { ops::where(x, x, x); }),
            "where: the condition is float32[2]; it must be bool, as a comparison gives");
  EXPECT_EQ(error_of([&] { ops::where(c, x, i); }),
            "where: the values are float32[2] and int32[2]; they must be of one type, and that not "
            "float64; cast them first");
  EXPECT_EQ(error_of([&] { ops::where(c, d, d); }),
            "where: the values are float64[2] and float64[2]; they must be of one type, and that "
            "not float64; cast them first");
  EXPECT_EQ(error_of([&] { ops::where(c, x, y); }),
            "where: the shapes [2] and [3] do not broadcast: axis 0 is 2 and 3; they must be equal "
            "or 1");
}

}  // namespace
}  // namespace snug
