#include "snug/ops/update_trial.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "snug/base/error.h"
#include "snug/ops/update.h"
#include "snug/testing/commit_run.h"

namespace snug::ops {
namespace {

// One Adam update of a weight [700]: more than one block.
struct AdamNode {
  static constexpr int64_t kSize = 700;
  Graph graph;
  Value reach;
  float rate = 0.001f;
  int64_t iterations = 0;
  std::vector<float> weight = std::vector<float>(kSize, 1), momentum = std::vector<float>(kSize),
                     velocity = std::vector<float>(kSize), gradient = std::vector<float>(kSize, 1);

  AdamNode() {
    const Type type{DType::float32, {kSize}};
    reach = update({{graph.variable("w", type),
                     graph.input("g", type),
                     {graph.variable("m", type), graph.variable("v", type)},
                     {}}},
                   {.rule = {.kind = UpdateRule::Kind::adam},
                    .learning_rate = graph.input("rate", {DType::float32, {}}),
                    .iterations = graph.variable("iterations", {DType::int64, {}})});
  }

  std::optional<UpdateFault> run() const {
    const std::vector<const void*> in = {&rate,           &iterations,     weight.data(),
                                         momentum.data(), velocity.data(), gradient.data()};
    return try_update(*reach.producer(), in.data());
  }
};

TEST(UpdateTrial, WritesNothingAndPassesWhatIsFinite) {
  const AdamNode node;
  EXPECT_FALSE(node.run());
  EXPECT_EQ(node.weight, std::vector<float>(AdamNode::kSize, 1));
  EXPECT_EQ(node.velocity, std::vector<float>(AdamNode::kSize));
}

TEST(UpdateTrial, NamesTheSlotAndTheElement) {
  AdamNode node;
  node.gradient[650] = 1e30f;
  const auto fault = node.run();
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->slot, 1);
  EXPECT_EQ(fault->element, 650);
  EXPECT_EQ(fault->gradient, 1e30f);
  EXPECT_TRUE(std::isinf(fault->value));
  EXPECT_EQ(node.graph.name(node.reach.producer()->in()[fault->weight]), "w");
}

TEST(UpdateTrial, NamesTheWeight) {
  AdamNode node;
  node.weight[3] = NAN;
  const auto fault = node.run();
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->slot, -1);
  EXPECT_EQ(fault->element, 3);
}

TEST(UpdateTrial, TriesTheListedRows) {
  Graph graph;
  const Value weight = graph.variable("table", {DType::float32, {4, 2}});
  const Value sums = graph.input("sums", {DType::float32, {3, 2}});
  const Value listed = testing::listed_rows(sums, graph.input("indices", {DType::int32, {3}}),
                                            graph.input("count", {DType::int32, {1}}));
  const Value reach = update({{weight, listed, {}, {}}},
                             {.learning_rate = graph.input("rate", {DType::float32, {}}),
                              .iterations = graph.variable("iterations", {DType::int64, {}})});
  const float rate = 1, table[8] = {}, rows[6] = {1, 2, 3, INFINITY, NAN, NAN};
  const int64_t iterations = 0;
  const int32_t indices[3] = {2, 1, 0};
  int32_t count = 1;
  const std::vector<const void*> in = {&rate, &iterations, table, rows, indices, &count};
  EXPECT_FALSE(try_update(*reach.producer(), in.data()));
  count = 2;
  const auto fault = try_update(*reach.producer(), in.data());
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->element, 3);
  EXPECT_THROW(try_update(*listed.producer(), in.data()), InternalError);
}

}  // namespace
}  // namespace snug::ops
