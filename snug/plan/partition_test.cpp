#include "snug/plan/partition.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "snug/autodiff/gradients.h"
#include "snug/ops/ops.h"

namespace snug {
namespace {

Type floats(const Shape& shape) { return {DType::float32, shape}; }

// Where a node with this name runs: the index of its stage, or -1.
int stage_of(const std::vector<StageChoice>& stages, std::string_view op) {
  for (size_t i = 0; i < stages.size(); ++i) {
    for (const Node* node : stages[i].nodes) {
      if (node->op().name() == op) return static_cast<int>(i);
    }
  }
  return -1;
}

size_t node_count(const std::vector<StageChoice>& stages) {
  size_t count = 0;
  for (const StageChoice& stage : stages) count += stage.nodes.size();
  return count;
}

// Every node runs after the nodes that make its inputs; a sum is whole before anybody reads it.
void expect_order(const Graph& graph, const std::vector<StageChoice>& stages) {
  std::vector<int> made(graph.value_count(), -1);
  for (size_t stage = 0; stage < stages.size(); ++stage) {
    for (const Node* node : stages[stage].nodes) {
      for (const int value : node->in()) {
        const Node* producer = graph.producer(value);
        if (producer == nullptr) continue;
        ASSERT_GE(made[value], 0) << node->label() << " reads what is not there yet";
        const bool in_parts = stages[made[value]].parts > 1;
        const bool whole = !producer->rows() || *producer->rows() != Rows::each;
        if (in_parts && whole) {
          EXPECT_LT(made[value], static_cast<int>(stage)) << node->label();
        }
      }
      for (const int value : node->out()) made[value] = static_cast<int>(stage);
    }
  }
}

struct Dense {
  Graph graph;
  Value x = graph.input("x", floats({kRows, 512}));
  Value w = graph.variable("w", floats({512, 512}));
  Value y = ops::tanh(ops::matmul(x, w));
  Value loss = ops::sum(ops::square(y));
  Values gradients = snug::gradients(loss, {w});
};

TEST(Partition, LeavesOutWhatNobodyNeeds) {
  Graph graph;
  const Value x = graph.input("x", floats({kRows, 4}));
  const Value y = ops::relu(x);
  ops::exp(x);
  EXPECT_EQ(node_count(partition(graph, std::vector{y}, 8, {})), 1u);
}

TEST(Partition, SmallStepsRunWholeOnOneThread) {
  Graph graph;
  const Value x = graph.input("x", floats({kRows, 4}));
  const auto stages = partition(graph, std::vector{ops::relu(x)}, 8, {.threads = 2});
  ASSERT_EQ(stages.size(), 1u);
  EXPECT_EQ(stages[0].parts, 1);
  EXPECT_EQ(stages[0].threads, 1);
}

TEST(Partition, RowWiseChainsRunInParts) {
  Graph graph;
  const Value x = graph.input("x", floats({kRows, 1 << 16}));
  const auto stages = partition(graph, std::vector{ops::exp(ops::tanh(x))}, 64, {.threads = 2});
  ASSERT_EQ(stages.size(), 1u);
  EXPECT_GT(stages[0].parts, 2);
  EXPECT_EQ(stages[0].lanes, 2);
  EXPECT_EQ(stages[0].threads, 1);
  EXPECT_GE(stages[0].part_rows * stages[0].parts, 64);
}

TEST(Partition, WideSumsOnFewRowsRunOnceAfterTheParts) {
  Dense few;
  const auto stages = partition(few.graph, few.gradients, 64, {.threads = 2});
  expect_order(few.graph, stages);
  const int sum = stage_of(stages, "matmul_weights_gradient");
  ASSERT_GE(sum, 0);
  EXPECT_EQ(stages[sum].parts, 1);
  EXPECT_EQ(stages[sum].threads, 2);
  EXPECT_GT(sum, stage_of(stages, "matmul"));
}

TEST(Partition, SumsOverManyRowsRideOnTheParts) {
  Dense many;
  const auto stages = partition(many.graph, many.gradients, 20'000, {.threads = 2});
  expect_order(many.graph, stages);
  EXPECT_EQ(stage_of(stages, "matmul_weights_gradient"), stage_of(stages, "matmul"));
}

TEST(Partition, ASumCutsTheStages) {
  Graph graph;
  const Value x = graph.input("x", floats({kRows, 1 << 14}));
  const Value total = ops::sum(ops::tanh(x), {.axes = {0}});
  const Value y = ops::exp(ops::subtract(x, total));
  const auto stages = partition(graph, std::vector{y}, 64, {.threads = 2});
  expect_order(graph, stages);
  EXPECT_LT(stage_of(stages, "sum"), stage_of(stages, "exp"));
}

// What is read behind a barrier only is made there, where its own input gets there anyway.
TEST(Partition, ANodeWaitsForItsFirstReader) {
  Graph graph;
  const Value x = graph.input("x", floats({kRows, 64}));
  const Value h = ops::matmul(x, graph.variable("w", floats({64, 64})));
  const Value total = ops::sum(h, {.axes = {0}});
  const Value stays = ops::add(ops::multiply(h, total), ops::exp(h));
  const auto stages = partition(graph, std::vector{stays}, 64, {});
  expect_order(graph, stages);
  EXPECT_EQ(stage_of(stages, "exp"), stage_of(stages, "multiply"));
  const Value ends = ops::add(total, ops::exp(h));
  EXPECT_EQ(stage_of(partition(graph, std::vector{ends}, 64, {}), "exp"), 0);
}

TEST(Partition, ASumOfAnInputIsThereBeforeItIsRead) {
  Graph graph;
  const Value x = graph.input("x", floats({kRows, 1 << 14}));
  const Value first = ops::sum(ops::tanh(x), {.axes = {0}}), second = ops::sum(x, {.axes = {0}});
  const Value y = ops::subtract(ops::subtract(x, first), second);
  expect_order(graph, partition(graph, std::vector{y}, 64, {.threads = 2}));
}

TEST(Partition, CommitsComeLastAndTogether) {
  Dense step;
  ops::assign_add(step.w, step.gradients[0]);
  const Value after = ops::relu(step.y);
  const auto stages = partition(step.graph, std::vector{after}, 64, {.threads = 2});
  expect_order(step.graph, stages);
  for (const Node* node : stages.back().nodes) EXPECT_TRUE(node->commits());
  EXPECT_EQ(stage_of(stages, "assign_add"), static_cast<int>(stages.size()) - 1);
}

TEST(Partition, IsTheSameOnOneThreadAndTwo) {
  for (const int64_t rows : {1, 64, 5000}) {
    Dense step;
    const auto one = partition(step.graph, step.gradients, rows, {.threads = 1});
    const auto two = partition(step.graph, step.gradients, rows, {.threads = 2});
    ASSERT_EQ(one.size(), two.size());
    for (size_t i = 0; i < one.size(); ++i) {
      EXPECT_EQ(one[i].nodes, two[i].nodes);
      EXPECT_EQ(one[i].parts, two[i].parts);
      EXPECT_EQ(one[i].lanes, two[i].lanes);
      EXPECT_EQ(one[i].part_rows, two[i].part_rows);
    }
  }
}

TEST(Partition, ForcedPartsHoldForEveryStageThatCan) {
  Dense step;
  const auto stages =
      partition(step.graph, step.gradients, 10, {.threads = 2}, {.forced_part_rows = 3});
  expect_order(step.graph, stages);
  for (const StageChoice& stage : stages) {
    if (stage.parts == 1) continue;
    EXPECT_EQ(stage.part_rows, 3);
    EXPECT_EQ(stage.parts, 4);
  }
  EXPECT_GT(stages[stage_of(stages, "matmul_weights_gradient")].parts, 1);
  const auto micro = partition(step.graph, step.gradients, 10, {.threads = 2},
                               {.forced_part_rows = 3, .one_lane = true});
  EXPECT_EQ(micro[stage_of(micro, "matmul")].lanes, 1);
}

// A part of few rows is over before another thread has begun, and that one would read all weights
// once more.
TEST(Partition, PartsOfFewRowsInOneLaneHaveOneThread) {
  Graph graph;
  const Value x = graph.input("x", {DType::float32, {kRows, 1024}});
  const Value y = ops::matmul(x, graph.variable("w", {DType::float32, {1024, 1024}}));
  const auto threads = [&](int64_t part_rows) {
    const Values results = {y};
    const auto stages = partition(graph, results, 4096, {.threads = 2},
                                  {.forced_part_rows = part_rows, .one_lane = true});
    return stages[stage_of(stages, "matmul")].threads;
  };
  EXPECT_EQ(threads(1), 1);
  EXPECT_EQ(threads(4), 1);
  EXPECT_EQ(threads(512), 2);
}

// What is added up with what: the same however the rows are cut, and on any number of threads.
TEST(Partition, AReproducibleOneHasTheSameTreeOfSumsForEveryCut) {
  const Dense dense;
  const Values results = {dense.loss, dense.gradients[0]};
  const auto stages = [&](int64_t part_rows, bool one_lane, int threads) {
    return partition(dense.graph, results, 1000, {.threads = threads},
                     {.forced_part_rows = part_rows, .one_lane = one_lane, .reproducible = true});
  };
  const std::vector<StageChoice> free = stages(0, false, 2);
  int cut = 0;
  for (const int64_t part_rows : {500, 130, 17, 1}) {
    for (const bool one_lane : {false, true}) {
      const std::vector<StageChoice> tight = stages(part_rows, one_lane, one_lane ? 1 : 8);
      ASSERT_EQ(tight.size(), free.size());
      for (size_t i = 0; i < free.size(); ++i) {
        EXPECT_EQ(tight[i].nodes, free[i].nodes);
        EXPECT_EQ(tight[i].block_rows, free[i].block_rows);
        EXPECT_EQ(tight[i].group_parts * tight[i].part_rows,
                  free[i].group_parts * free[i].part_rows);
        if (tight[i].block_rows == 0) continue;
        EXPECT_EQ(tight[i].part_rows % tight[i].block_rows, 0);
        EXPECT_EQ(tight[i].lanes, one_lane ? 1 : tight[i].groups());
        ++cut;
      }
    }
  }
  EXPECT_GT(cut, 0);
}

}  // namespace
}  // namespace snug
