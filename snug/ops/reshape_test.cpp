#include "snug/ops/reshape.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "snug/testing/check_op.h"

namespace snug {
namespace {

using testing::check_op;
using testing::error_of;

struct ReshapeCase {
  Shape from, wanted, to;
};

void check(const ReshapeCase& c, DType dtype) {
  SCOPED_TRACE(c.from.text() + " to " + c.wanted.text());
  check_op({.inputs = {{dtype, c.from}},
            .build = [&](const Values& in) { return ops::reshape(in[0], c.wanted); },
            .reference = [](const auto& in) { return in[0]; },
            .result = c.to,
            .has_gradient = is_float(dtype)});
}

TEST(Reshape, KeepsElementsInOrder) {
  const Extent rows4(4, true), rows2(2, true);
  const ReshapeCase cases[] = {
      {{2, 6}, {3, 4}, {3, 4}},
      {{2, 6}, {-1}, {12}},
      {{12}, {2, -1, 3}, {2, 2, 3}},
      {{1, 1}, {}, {}},
      {{}, {1, 1}, {1, 1}},
      {{kRows, 3, 4}, {kRows, 12}, {kRows, 12}},
      {{kRows, 3, 4}, {kRows, -1}, {kRows, 12}},
      {{kRows, 3, 4}, {-1, 6}, {rows2, 6}},
      {{kRows, 4, 3}, {rows4, 3}, {rows4, 3}},
      {{rows4, 3}, {kRows, 4, 3}, {kRows, 4, 3}},
      {{rows4, 3}, {kRows, -1, 6}, {kRows, 2, 6}},
  };
  for (const ReshapeCase& c : cases) {
    check(c, DType::float32);
    check(c, DType::int32);
  }
}

TEST(Reshape, ToItsOwnShapeAddsNothing) {
  Graph graph;
  const Value x = graph.input("x", {DType::float32, {kRows, 3}});
  EXPECT_EQ(ops::reshape(x, {kRows, 3}), x);
}

TEST(Reshape, AloneItGoesBeforeAFunctionOfEachElement) {
  check_op({.inputs = {{DType::float32, {kRows, 3, 4}}},
            .build =
                [](const Values& in) {
                  return ops::reshape_alone(ops::relu(in[0]), {kRows, 12});
                },
            .reference =
                [](const auto& in) {
                  testing::Doubles y = in[0];
                  for (double& element : y) element = std::max(element, 0.0);
                  return y;
                },
            .result = {kRows, 12}});
  Graph graph;
  const Value x = graph.input("x", {DType::float32, {kRows, 3, 4}});
  const auto last = [](Value y) { return std::string(y.producer()->op().name()); };
  EXPECT_EQ(last(ops::reshape_alone(ops::relu(x), {kRows, 12})), "relu");
  EXPECT_EQ(last(ops::reshape_alone(ops::add(x, x), {kRows, 12})), "reshape");
  EXPECT_EQ(last(ops::reshape_alone(ops::dropout(x, {.rate = 0.5f}), {kRows, 12})), "reshape");
  EXPECT_EQ(last(ops::reshape_alone(x, {kRows, 12})), "reshape");
}

TEST(Reshape, LargeValuesOnTwoThreads) {
  check_op({.inputs = {{DType::float32, {260, 260}}},
            .build = [](const Values& in) { return ops::reshape(in[0], {67600}); },
            .reference = [](const auto& in) { return in[0]; },
            .result = {67600}});
}

TEST(Reshape, NamesWhatDoesNotFit) {
  Graph graph;
  const Value x = graph.input("x", {DType::float32, {kRows, 6}});
  const auto error = [&](const Shape& shape) { return error_of([&] { ops::reshape(x, shape); }); };
  EXPECT_EQ(error({kRows, 4}),
            "reshape: [rows, 6] cannot become [rows, 4]: the numbers of elements differ");
  EXPECT_EQ(error({6}), "reshape: [rows, 6] cannot become [6]: the numbers of elements differ");
  EXPECT_EQ(error({-1, -1}),
            "reshape: to [-1, -1] from [rows, 6]: one extent may be -1 and none less");
  EXPECT_EQ(error({kRows, -2}),
            "reshape: to [rows, -2] from [rows, 6]: one extent may be -1 and none less");
  EXPECT_EQ(
      error({kRows, -1, 4}),
      "reshape: [rows, 6] cannot become [rows, -1, 4]: 6 elements a row are no multiple of 4");
  EXPECT_EQ(error({6, kRows}),
            "reshape: [rows, 6] cannot become [6, rows]: rows must stay outermost; transpose "
            "instead");
}

}  // namespace
}  // namespace snug
