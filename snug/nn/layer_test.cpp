#include "snug/nn/layer.h"

#include <algorithm>

#include "snug/nn/dense.h"
#include "snug/nn/loss.h"
#include "snug/nn/network.h"
#include "snug/nn/normalization.h"
#include "snug/testing/composite_layer.h"
#include "snug/testing/layer_call.h"
#include "snug/testing/layer_run.h"

namespace snug::testing {
namespace {

// As in Keras: setting it sets it of all that is inside, and then each layer's own counts.
TEST(Layer, FreezingReachesWhatIsInside) {
  const Layer first = Dense(4), last = Dense(2);
  const auto inner = Network::sequential({Input({3}), first, last}, "inner");
  const auto outer = Network::sequential({Input({3}), Layer(inner), Dense(1)}, "outer");
  inner->trainable = false;
  EXPECT_FALSE(first->trainable);
  EXPECT_EQ(Layer(outer).trainable_weights().size(), 2u);
  EXPECT_EQ(first.trainable_weights().size(), 0u);
  last->trainable = true;
  EXPECT_EQ(Layer(outer).trainable_weights().size(), 4u);
  EXPECT_EQ(Layer(outer).non_trainable_weights(), first.weights());
  // A frozen root trains nothing, whatever is inside.
  EXPECT_EQ(Layer(inner).trainable_weights().size(), 0u);
  inner->trainable = true;
  EXPECT_TRUE(first->trainable);
  EXPECT_EQ(Layer(outer).trainable_weights().size(), 6u);
}

TEST(Layer, ABatchNormalizationOfAFrozenModelMayTrainForItself) {
  const Layer norm = BatchNormalization();
  const auto model = Network::sequential({Input({3}), norm}, "model");
  const auto average_moves = [&] {
    Graph graph;
    Tracer tracer(graph, /*training=*/true);
    call_layer(model, tracer, {graph.input("x", {DType::float32, {kRows, 3}})});
    return std::ranges::any_of(graph.nodes(), [](const Node* node) { return node->commits(); });
  };
  EXPECT_TRUE(average_moves());
  model->trainable = false;
  EXPECT_FALSE(average_moves());
  norm->trainable = true;
  EXPECT_TRUE(average_moves());
}

}  // namespace
}  // namespace snug::testing
