#include <gtest/gtest.h>

#include "snug/autodiff/gradients.h"
#include "snug/ops/ops.h"
#include "snug/testing/check_op.h"

namespace snug {
namespace {

using testing::check_op;

TEST(StopGradient, IsTheValueItself) {
  for (const DType dtype : {DType::float32, DType::int32, DType::boolean}) {
    check_op({.inputs = {{dtype, {kRows, 3}}},
              .build = [](const Values& in) { return ops::stop_gradient(in[0]); },
              .reference = [](const auto& in) { return in[0]; },
              .result = {kRows, 3},
              .has_gradient = false});
  }
}

TEST(StopGradient, NoGradientFlows) {
  Graph graph;
  const Value x = graph.input("x", {DType::float32, {kRows, 3}});
  EXPECT_FALSE(gradients(ops::sum(ops::stop_gradient(x)), {x})[0]);
}

}  // namespace
}  // namespace snug
