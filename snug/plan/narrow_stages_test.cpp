#include "snug/plan/narrow_stages.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "snug/autodiff/gradients.h"
#include "snug/ops/ops.h"
#include "snug/plan/instantiate.h"
#include "snug/plan/squeezer.h"

namespace snug {
namespace {

constexpr int64_t kBatch = 4096;

// Layers of values around their sums over rows, as batch norm has them: each layer's stage reads
// what the one before has made, and backward what the layer made forward, too.
struct Layers {
  explicit Layers(int count) {
    const Type square{DType::float32, {64, 64}};
    Value x = graph.input("x", {DType::float32, {kRows, 64}});
    Values weights;
    for (int i = 0; i < count; ++i) {
      weights.push_back(graph.variable("w", square));
      const Value h = ops::matmul(x, weights.back());
      const Value total = ops::sum(h, {.axes = {0}});
      x = ops::add(ops::tanh(ops::subtract(h, total)), x);
    }
    results = gradients(ops::sum(ops::square(x)), weights);
  }

  std::vector<StageChoice> stages(bool narrow, bool reproducible = false) const {
    return partition(graph, results, kBatch, {.threads = 2}, options(narrow, reproducible));
  }
  static PartitionOptions options(bool narrow, bool reproducible = false) {
    return {.forced_part_rows = 64, .reproducible = reproducible, .narrow = narrow};
  }

  Graph graph;
  Values results;
};

std::vector<const Node*> nodes_of(const std::vector<StageChoice>& stages) {
  std::vector<const Node*> nodes;
  for (const StageChoice& stage : stages)
    nodes.insert(nodes.end(), stage.nodes.begin(), stage.nodes.end());
  return nodes;
}

// The same parts, lanes and blocks for each node, in the same order: so the same bits.
TEST(NarrowStages, OnlyCut) {
  const Layers net(4);
  for (const bool reproducible : {false, true}) {
    const auto wide = net.stages(false, reproducible), narrow = net.stages(true, reproducible);
    EXPECT_GT(narrow.size(), wide.size());
    ASSERT_EQ(nodes_of(narrow), nodes_of(wide));
    size_t w = 0, seen = 0;
    for (const StageChoice& stage : narrow) {
      EXPECT_EQ(stage.part_rows, wide[w].part_rows);
      EXPECT_EQ(stage.parts, wide[w].parts);
      EXPECT_EQ(stage.lanes, wide[w].lanes);
      EXPECT_EQ(stage.threads, wide[w].threads);
      EXPECT_EQ(stage.block_rows, wide[w].block_rows);
      EXPECT_EQ(stage.group_parts, wide[w].group_parts);
      EXPECT_FALSE(stage.nodes.empty());
      seen += stage.nodes.size();
      if (seen == wide[w].nodes.size()) ++w, seen = 0;
    }
    EXPECT_EQ(w, wide.size());
  }
}

TEST(NarrowStages, NeedLess) {
  const Layers net(4);
  const auto least = [&](bool narrow) {
    const Instance instance = instantiate(net.graph, net.results, kBatch, {.threads = 2},
                                          {.partition = Layers::options(narrow)});
    return Squeezer(instance.problem).least_bytes();
  };
  EXPECT_LT(least(true), least(false) * 9 / 10);
}

TEST(NarrowStages, WholeStagesAndWhatIsNarrowStay) {
  const Layers net(3);
  std::vector<StageChoice> stages = net.stages(true);
  const auto again = narrowed(net.graph, net.results, kBatch, stages);
  EXPECT_EQ(again.size(), stages.size());
  stages = net.stages(false);
  for (StageChoice& stage : stages) stage.parts = 1;
  EXPECT_EQ(narrowed(net.graph, net.results, kBatch, stages).size(), stages.size());
}

}  // namespace
}  // namespace snug
