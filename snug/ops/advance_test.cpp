#include <gtest/gtest.h>

#include "snug/ops/update.h"
#include "snug/testing/commit_run.h"

namespace snug::ops {
namespace {

TEST(Advance, CountsEveryCommit) {
  Graph graph;
  const Value count = graph.variable("iteration", {DType::int64, {}});
  advance(count);
  testing::CommitRun run(graph, {});
  run.set(count, {4'000'000'000});
  run.run();
  run.run();
  EXPECT_EQ(run.get(count), (testing::Doubles{4'000'000'002}));
}

TEST(Advance, WantsACount) {
  Graph graph;
  const Value count = graph.variable("iteration", {DType::int32, {}});
  EXPECT_EQ(testing::error_of([&] { advance(count); }),
            "advance: the count of iterations is int32[]; it must be int64[]");
}

}  // namespace
}  // namespace snug::ops
