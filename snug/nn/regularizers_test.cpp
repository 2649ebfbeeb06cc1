#include <gtest/gtest.h>

#include "snug/nn/dense.h"
#include "snug/nn/network.h"
#include "snug/nn/regularizer.h"
#include "snug/testing/layer_run.h"

namespace snug::testing {
namespace {

double penalty_of(const RegularizerPtr& regularizer) {
  Graph graph;
  const Value x = graph.input("x", {DType::float32, {kRows}});
  const Value penalty = regularizer->penalty(x);
  EXPECT_EQ(penalty.shape(), Shape{});
  const std::vector<Bytes> results =
      run_graph(graph, {penalty}, {to_bytes({1, -2, 3}, DType::float32)}, {.rows = 3});
  return to_doubles(results[0], DType::float32)[0];
}

TEST(Regularizers, Penalties) {
  EXPECT_NEAR(penalty_of(l1(0.5)), 3, 1e-6);
  EXPECT_NEAR(penalty_of(l2(0.5)), 7, 1e-6);
  EXPECT_NEAR(penalty_of(l1_l2(0.1, 0.2)), 0.6 + 2.8, 1e-6);
  EXPECT_NEAR(penalty_of(make_regularizer("l2")), 0.14, 1e-7);
  EXPECT_NEAR(penalty_of(make_regularizer("L1L2")), 0, 0);
}

TEST(Regularizers, FactorsAreNotNegative) {
  const auto refusal = [](const RegularizerPtr& regularizer) {
    return error_of([&] { penalty_of(regularizer); });
  };
  EXPECT_EQ(refusal(l2(-1)), "the regularizer's l2 is -1; it must be a number of 0 or more");
  EXPECT_EQ(refusal(l1_l2(-0.5, 1)),
            "the regularizer's l1 is -0.5; it must be a number of 0 or more");
}

TEST(Regularizers, UnknownNames) {
  EXPECT_EQ(error_of([] { make_regularizer("l3"); }),
            "there is no regularizer \"l3\"; did you mean \"l1\"?");
}

// Weights' penalties count once however often the layer is called, and not where it is frozen;
// those of the activity count for each call.
TEST(Regularizers, OfLayers) {
  const auto losses = [](const Layer& layer) {
    Graph graph;
    Tracer tracer(graph, /*training=*/true);
    const Value x = graph.input("x", {DType::float32, {kRows, 3}});
    call_layer(layer.definition(), tracer, {x});
    call_layer(layer.definition(), tracer, {x});
    return tracer.losses().size();
  };
  EXPECT_EQ(losses(Dense(3)), 0u);
  EXPECT_EQ(losses(Dense(3, {.kernel_regularizer = l2(), .bias_regularizer = l1()})), 2u);
  EXPECT_EQ(losses(Dense(3, {.activity_regularizer = l2()})), 2u);
  EXPECT_EQ(losses(Dense(3, {.kernel_regularizer = l2(), .trainable = false})), 0u);
}

// In a step of one's own the variables may be asked for first.
TEST(Regularizers, CountThoughTheWeightWasReadBefore) {
  const Layer layer = Dense(3, {.kernel_regularizer = l2(), .bias_regularizer = l1()});
  layer(Symbol(Input({3})));
  Graph graph;
  Tracer tracer(graph, /*training=*/true);
  for (const VariablePtr& weight : layer.weights()) tracer.value(weight);
  const Value x = graph.input("x", {DType::float32, {kRows, 3}});
  for (int call = 0; call < 2; ++call) call_layer(layer.definition(), tracer, {x});
  EXPECT_EQ(tracer.losses().size(), 2u);
}

// What Keras 3.15 gives: so that it does not depend on the batch size.
TEST(Regularizers, ActivitiesCountByTheRow) {
  Graph graph;
  Tracer tracer(graph, /*training=*/true);
  const Value x = graph.input("x", {DType::float32, {kRows, 2}});
  tracer.add_activity_loss(l2(0.5)->penalty(x));
  const Value loss = tracer.losses().at(0);
  const std::vector<Bytes> results = run_graph(
      graph, {loss}, {to_bytes({3, 3, 7, 7}, DType::float32), to_bytes({2}, DType::float32)},
      {.rows = 2});
  EXPECT_EQ(to_doubles(results[0], DType::float32)[0], 29);
}

}  // namespace
}  // namespace snug::testing
