#include "snug/nn/activation.h"

#include <cmath>

#include "snug/testing/layer_call.h"

namespace snug::testing {
namespace {

// The numbers of Keras are in tests/golden; here: that each name has its op.
TEST(Activation, KnowsEveryName) {
  for (const std::string_view name : activation_names()) {
    Graph graph;
    Tracer tracer(graph, /*training=*/false);
    const Value x = graph.input("x", {DType::float32, {kRows, 4}});
    const Value y = apply_activation(tracer, name, x);
    EXPECT_EQ(y == x, name == "linear") << name;
    EXPECT_EQ(y.shape()[1], name == "glu" ? 2 : 4) << name;
  }
}

TEST(Activation, GluLetsHalfThrough) {
  Graph graph;
  Tracer tracer(graph, /*training=*/false);
  const Value y = apply_activation(tracer, "glu", graph.input("x", {DType::float32, {kRows, 2}}));
  const std::vector<Bytes> results =
      run_graph(graph, {y}, {to_bytes({3, 0, 4, 1}, DType::float32)}, {.rows = 2});
  const Doubles elements = to_doubles(results[0], DType::float32);
  EXPECT_NEAR(elements[0], 1.5, 1e-6);
  EXPECT_NEAR(elements[1], 4 / (1 + std::exp(-1.0)), 1e-6);
}

TEST(Activation, LogitsAreRemembered) {
  Graph graph;
  Tracer tracer(graph, /*training=*/false);
  const Value x = graph.input("x", {DType::float32, {kRows, 4}});
  EXPECT_EQ(tracer.logits(apply_activation(tracer, "softmax", x))->from, Logits::From::softmax);
  const Value sigmoid = apply_activation(tracer, "sigmoid", x);
  EXPECT_EQ(tracer.logits(sigmoid)->from, Logits::From::sigmoid);
  EXPECT_EQ(tracer.logits(sigmoid)->value, x);
  EXPECT_FALSE(tracer.logits(apply_activation(tracer, "tanh", x)));
}

TEST(Activation, UnknownNames) {
  EXPECT_EQ(error_of([] { check_activation("rleu"); }),
            "there is no activation \"rleu\"; did you mean \"relu\"?");
  EXPECT_EQ(error_of([] { check_activation("sofmax"); }),
            "there is no activation \"sofmax\"; did you mean \"softmax\"?");
}

}  // namespace
}  // namespace snug::testing
