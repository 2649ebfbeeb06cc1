#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "snug/autodiff/gradients.h"
#include "snug/ops/batch_norm.h"
#include "snug/testing/check_op.h"

namespace snug {
namespace {

using testing::Doubles;

Doubles draw(size_t size, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> real(-1, 3);
  Doubles values(size);
  for (double& value : values) value = static_cast<float>(real(random));
  return values;
}

Doubles run(const Graph& graph, Value result, const std::vector<Doubles>& in) {
  std::vector<testing::Bytes> bytes;
  for (const Doubles& values : in) bytes.push_back(testing::to_bytes(values, DType::float32));
  return testing::to_doubles(
      testing::run_graph(graph, {result}, bytes, {.rows = 6, .part_rows = 4})[0], DType::float32);
}

// Neither a shift nor a scale of x changes y, so dx is at right angles to 1 and to x.
TEST(BatchNormGradient, IsAtRightAnglesToShiftAndScale) {
  Graph graph;
  const Value x = graph.input("x", {DType::float32, {kRows, 3, 5}});
  const Value dy = graph.input("dy", x.type());
  const Value statistics = ops::batch_statistics(x, 1e-9f);
  const Value dx = ops::batch_norm_gradients({.x = x, .statistics = statistics}, dy, true).dx;
  const std::vector<Doubles> in = {draw(90, 1), draw(90, 2)};
  const Doubles found = run(graph, dx, in);
  for (int c = 0; c < 5; ++c) {
    double sum = 0, dot = 0, size = 0;
    for (size_t i = c; i < found.size(); i += 5) {
      sum += found[i];
      dot += found[i] * in[0][i];
      size += std::abs(found[i]);
    }
    EXPECT_GT(size, 1);
    EXPECT_NEAR(sum, 0, 1e-5);
    EXPECT_NEAR(dot, 0, 1e-5);
  }
}

TEST(BatchNormGradient, OfFixedStatisticsIsAScale) {
  Graph graph;
  const Value x = graph.input("x", {DType::float32, {kRows, 2}});
  const Value dy = graph.input("dy", x.type());
  const Value statistics = graph.input("statistics", {DType::float32, {4, 2}});
  const Value gamma = graph.input("gamma", {DType::float32, {2}});
  const Value beta = graph.input("beta", gamma.type());
  const Value y = ops::batch_normalise(x, statistics, {.gamma = gamma, .beta = beta}, false);
  const Values g = gradients(y, dy, {x, gamma, beta});
  const Doubles known = {1, 2, 0.5, 4, 0, 0, 0, 0};  // Means, then rstds.
  const std::vector<Doubles> in = {draw(12, 1), draw(12, 2), known, {3, 0.25}, {1, 1}};
  const Doubles dx = run(graph, g[0], in);
  double dgamma = 0, dbeta = 0;
  for (int i = 0; i < 12; ++i) {
    EXPECT_NEAR(dx[i], in[1][i] * (i % 2 == 0 ? 1.5 : 1.0), 1e-6);
    if (i % 2 == 1) continue;
    dgamma += in[1][i] * (in[0][i] - 1) * 0.5;
    dbeta += in[1][i];
  }
  EXPECT_NEAR(run(graph, g[1], in)[0], dgamma, 1e-5);
  EXPECT_NEAR(run(graph, g[2], in)[0], dbeta, 1e-5);
}

struct Followed {
  Graph graph;
  Values in, gradients;

  // `apart`: something between the two, so that the rectification's own gradient runs.
  Followed(bool six, bool apart) {
    const Value x = graph.input("x", {DType::float32, {kRows, 3, 5}});
    const Value dy = graph.input("dy", x.type());
    const Value gamma = graph.input("gamma", {DType::float32, {5}});
    const Value beta = graph.input("beta", gamma.type());
    const Value statistics = ops::batch_statistics(x, 1e-3f);
    const BatchNormOptions options{.gamma = gamma, .beta = beta};
    Value y = ops::batch_normalise(x, statistics, options, true);
    if (apart) y = ops::reshape(y, {kRows, 15});
    Value z = six ? ops::relu6(y) : ops::relu(y);
    if (apart) z = ops::reshape(z, x.shape());
    gradients = snug::gradients(z, dy, {x, gamma, beta});
  }
  using BatchNormOptions = ops::BatchNormOptions;

  bool reads(std::string_view op) const {
    for (const Value& gradient : gradients) {
      if (leads(*gradient.producer(), op)) return true;
    }
    return false;
  }

 private:
  static bool leads(const Node& node, std::string_view op) {
    if (node.op().name() == op) return true;
    for (int i = 0; i < static_cast<int>(node.in().size()); ++i) {
      const Node* producer = node.input(i).producer();
      if (producer != nullptr && leads(*producer, op)) return true;
    }
    return false;
  }
};

// The same bits as with the rectification's own gradient, which nothing reads any more.
TEST(BatchNormGradient, PassesOverARectification) {
  for (const bool six : {false, true}) {
    const Followed joined(six, false), apart(six, true);
    const std::string_view own = six ? "relu6_gradient" : "relu_gradient";
    EXPECT_FALSE(joined.reads(own));
    EXPECT_TRUE(apart.reads(own));
    const std::vector<Doubles> in = {draw(90, 1), draw(90, 2), {3, 4, -5, 6, 7}, {1, 2, 3, -1, -2}};
    for (size_t i = 0; i < 3; ++i)
      EXPECT_EQ(run(joined.graph, joined.gradients[i], in),
                run(apart.graph, apart.gradients[i], in));
  }
}

TEST(BatchNormGradient, LeavesARectificationOfAnElementWiseGradient) {
  Graph graph;
  const Value x = graph.input("x", {DType::float32, {kRows, 5}});
  const Value y = ops::batch_normalise(x, ops::batch_statistics(x, 1e-3f), {}, true);
  const Value z = ops::square(ops::relu(y));
  const Value dx = gradients(z, graph.input("dy", x.type()), {x})[0];
  EXPECT_EQ(dx.producer()->input(1).producer()->op().name(), "relu_gradient");
}

TEST(BatchNormGradient, MatchesReferenceBehindARectification) {
  testing::check_op({.inputs = {{DType::float32, {kRows, 4, 3}}, {DType::float32, {3}}},
                     .build =
                         [](const Values& in) {
                           const Value statistics = ops::batch_statistics(in[0], 1e-3f);
                           const ops::BatchNormOptions options{.gamma = in[1]};
                           return ops::relu6(
                               ops::batch_normalise(in[0], statistics, options, true));
                         },
                     .reference =
                         [](const std::vector<Doubles>& in) {
                           Doubles y = in[0];
                           const double count = static_cast<double>(y.size()) / 3;
                           for (size_t c = 0; c < 3; ++c) {
                             double mean = 0, variance = 0;
                             for (size_t i = c; i < y.size(); i += 3) mean += in[0][i] / count;
                             for (size_t i = c; i < y.size(); i += 3)
                               variance += (in[0][i] - mean) * (in[0][i] - mean) / count;
                             const double scale = in[1][c] / std::sqrt(variance + 1e-3);
                             for (size_t i = c; i < y.size(); i += 3)
                               y[i] = std::clamp((in[0][i] - mean) * scale, 0.0, 6.0);
                           }
                           return y;
                         },
                     .result = {kRows, 4, 3}});
}

}  // namespace
}  // namespace snug
