// Program::find_bad_node: the first node that gives a number that is not finite, and its rows.

#include <gtest/gtest.h>

#include <cmath>

#include "snug/exec/program.h"
#include "snug/ops/ops.h"
#include "snug/plan/fuse.h"
#include "snug/tensor/arena.h"

namespace snug {
namespace {

// y = sum over rows of log(relu(x * w) + 1), with a variable that counts runs.
struct WatchedGraph {
  Graph graph;
  std::unique_ptr<Graph> fused;
  Value x, w, sum, count;

  WatchedGraph() {
    x = graph.input("x", {DType::float32, {kRows, 4}});
    w = graph.variable("w", {DType::float32, {4, 3}});
    count = graph.variable("count", {DType::float32, {}});
    Value hidden;
    {
      const Graph::Scope scope(graph, "first");
      hidden = ops::matmul(x, w);
    }
    {
      const Graph::Scope scope(graph, "second");
      hidden = ops::log(ops::add_scalar(ops::relu(hidden), 1));
    }
    sum = ops::sum(hidden);
    ops::assign_add(count, ops::multiply_scalar(sum, 0));
    fused = fuse(graph, {sum});
  }
};

struct WatchedRun {
  WatchedGraph step;
  float weights[12], count = 0;
  Program program;
  Arena arena;

  WatchedRun(int64_t rows, int threads, int64_t part_rows)
      : program(make(step, rows, threads, part_rows)), arena(program.arena_bytes() + 64) {
    std::fill_n(weights, 12, 1.0f);
    std::vector<void*> outside(step.graph.value_count());
    outside[step.w.id()] = weights;
    outside[step.count.id()] = &count;
    program.bind(arena.data(), outside);
    for (float& value : input()) value = 0.5f;
  }

  static Program make(WatchedGraph& step, int64_t rows, int threads, int64_t part_rows) {
    InstantiateOptions options;
    options.partition.forced_part_rows = part_rows;
    return make_program(*step.fused, {step.sum}, rows, {.threads = threads}, kUnlimited, options);
  }
  std::span<float> input() { return program.tensor(step.x).as<float>(); }
};

TEST(Watch, AllIsFinite) {
  WatchedRun run(7, 1, 0);
  EXPECT_FALSE(run.program.find_bad_node({}));
  EXPECT_EQ(run.count, 0) << "it has committed";
}

TEST(Watch, NamesTheNodeAndTheRows) {
  for (const int threads : {1, 2}) {
    for (const int64_t part_rows : {0, 1, 2, 3}) {
      WatchedRun run(7, threads, part_rows);
      run.input()[5 * 4 + 1] = 3e38f;
      run.weights[1 * 3 + 2] = 1e10f;
      const auto bad = run.program.find_bad_node({});
      ASSERT_TRUE(bad);
      EXPECT_EQ(bad->label, "first/matmul");
      EXPECT_TRUE(std::isinf(bad->value));
      EXPECT_EQ(bad->rows, std::vector<int64_t>{5});
    }
  }
}

TEST(Watch, NamesTheOpWithinAFusedChain) {
  WatchedRun run(7, 1, 0);
  run.input()[2 * 4] = NAN;
  const auto bad = run.program.find_bad_node({});
  ASSERT_TRUE(bad);
  EXPECT_EQ(bad->label, "first/matmul");
  EXPECT_EQ(bad->rows, std::vector<int64_t>{2});

  Graph graph;
  const Value x = graph.input("x", {DType::float32, {kRows, 2}});
  Value y;
  {
    const Graph::Scope scope(graph, "layer");
    y = ops::tanh(ops::log(ops::add_scalar(x, -1)));
  }
  const auto fused = fuse(graph, {y});
  ASSERT_LT(fused->nodes().size(), graph.nodes().size());
  Program program = make_program(*fused, {y}, 3, {.threads = 1});
  const Arena arena(program.arena_bytes() + 64);
  program.bind(arena.data(), std::vector<void*>(graph.value_count()));
  const auto in = program.tensor(x).as<float>();
  std::ranges::fill(in, 5.0f);
  EXPECT_FALSE(program.find_bad_node({}));
  in[4] = 0;
  const auto inner = program.find_bad_node({});
  ASSERT_TRUE(inner);
  EXPECT_EQ(inner->label, "layer/log");
  EXPECT_TRUE(std::isnan(inner->value));
  EXPECT_EQ(inner->rows, std::vector<int64_t>{2});
}

TEST(Watch, ListsAtMostFiveRows) {
  WatchedRun run(40, 2, 4);
  for (float& value : run.input()) value = INFINITY;
  const auto bad = run.program.find_bad_node({});
  ASSERT_TRUE(bad);
  EXPECT_EQ(bad->rows.size(), 5);
}

TEST(Watch, WhatIsPendingIsWhatCommitsRead) {
  WatchedRun run(7, 1, 0);
  run.program.compute({});
  const Node* commit = run.step.graph.nodes().back();
  ASSERT_TRUE(commit->commits());
  const auto* pending = static_cast<const float*>(run.program.pending(commit->input(1)));
  ASSERT_NE(pending, nullptr);
  EXPECT_EQ(*pending, 0);
  EXPECT_EQ(run.program.pending(run.step.count), &run.count);
}

}  // namespace
}  // namespace snug
