#include <gtest/gtest.h>

#include "snug/ops/ops.h"
#include "snug/testing/check_op.h"

namespace snug {
namespace {

using testing::Doubles;

TEST(Constant, FillsItsShape) {
  Graph graph;
  const Value value = ops::constant(graph, {2, 3}, 1.5f);
  const auto result = testing::run_graph(graph, {value}, {}, {});
  EXPECT_EQ(testing::to_doubles(result[0], DType::float32), Doubles(6, 1.5));
}

TEST(Constant, RefusesRows) {
  Graph graph;
  EXPECT_EQ(testing::error_of([&] {
              ops::constant(graph, {kRows, 3}, 0);
            }),
            "constant: [rows, 3] has rows; fill a fixed shape and broadcast it with broadcast_to");
}

}  // namespace
}  // namespace snug
