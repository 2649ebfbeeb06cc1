#include <gtest/gtest.h>

#include <cmath>

#include "snug/autodiff/gradients.h"
#include "snug/ops/ops.h"
#include "snug/testing/check_op.h"

namespace snug {
namespace {

using testing::Doubles;

// The gradient of x [2, 3] where the reduction along axis 1 gets the gradient dy [2].
Doubles gradient_of(Value (*reduce)(Value, const ops::ReduceOptions&), const Doubles& x,
                    const Doubles& dy) {
  Graph graph;
  const Value x_value = graph.input("x", {DType::float32, {kRows, 3}});
  const Value y = reduce(x_value, {.axes = {1}});
  const Value dy_value = graph.input("dy", y.type());
  const Value dx = gradients(y, dy_value, {x_value})[0];
  const auto bytes = [](const Doubles& values) {
    return testing::to_bytes(values, DType::float32);
  };
  return testing::to_doubles(testing::run_graph(graph, {dx}, {bytes(x), bytes(dy)}, {.rows = 2})[0],
                             DType::float32);
}

TEST(ReduceGradient, EqualExtremesShare) {
  EXPECT_EQ(gradient_of(ops::max, {5, 5, 1, 2, 3, 1}, {4, 7}), (Doubles{2, 2, 0, 0, 7, 0}));
  EXPECT_EQ(gradient_of(ops::min, {5, 5, 5, 2, 3, 2}, {6, 8}), (Doubles{2, 2, 2, 4, 0, 4}));
}

TEST(ReduceGradient, NanMakesTheGradientNan) {
  for (const auto reduce : {ops::max, ops::min, ops::product}) {
    const Doubles dx = gradient_of(reduce, {5, std::nan(""), 1, 2, 3, 1}, {4, 7});
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(std::isnan(dx[i])) << i;
    for (int i = 3; i < 6; ++i) EXPECT_TRUE(std::isfinite(dx[i])) << i;
  }
}

TEST(ReduceGradient, ProductWithZeros) {
  EXPECT_EQ(gradient_of(ops::product, {2, 0, 3, 0, 5, 0}, {4, 7}), (Doubles{0, 24, 0, 0, 0, 0}));
}

}  // namespace
}  // namespace snug
