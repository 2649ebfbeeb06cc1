#include <gtest/gtest.h>

#include <cmath>

#include "snug/ops/update.h"
#include "snug/testing/commit_run.h"

namespace snug::ops {
namespace {

using testing::CommitRun;
using testing::error_of;

TEST(LargestElements, GivesOneMagnitudeForEachValue) {
  Graph graph;
  const Value a = graph.input("a", {DType::float32, {3}});
  const Value b = graph.input("b", {DType::float64, {2}});
  const Value largest = largest_elements({a, b});
  CommitRun run(graph, {largest});
  run.set(a, {1, -7, 3});
  run.set(b, {-2, 1e300});
  run.run();
  EXPECT_EQ(run.get(largest)[0], 7);
  EXPECT_TRUE(std::isfinite(run.get(largest)[1]));
  run.set(a, {1, NAN, INFINITY});
  run.set(b, {-INFINITY, 1});
  run.run();
  EXPECT_TRUE(std::isnan(run.get(largest)[0]));
  EXPECT_TRUE(std::isinf(run.get(largest)[1]));
}

TEST(LargestElements, WantsFloats) {
  Graph graph;
  const Value a = graph.input("a", {DType::int32, {3}});
  EXPECT_EQ(error_of([&] { largest_elements({a}); }),
            "largest_elements: a value is int32[3]; it must be float32 or float64");
  EXPECT_NE(error_of([&] { largest_elements({}); }).find("give at least one"), std::string::npos);
}

}  // namespace
}  // namespace snug::ops
