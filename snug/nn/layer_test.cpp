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

// Makes its layer when it sees the shape.
class Widened final : public LayerDefinition {
 public:
  std::string_view class_name() const override { return "Widened"; }
  void settings(SettingVisitor&) override {}
  void build(const Types& in) override { inner_.push_back(Dense(2 * in[0].shape[-1])); }
  Values call(Tracer&, const Values& in) override { return {inner_[0](in[0])}; }
  std::vector<Layer> sublayers() const override { return inner_; }

 private:
  std::vector<Layer> inner_;
};

TEST(Layer, FreezesWhatItsBuildMakes) {
  const Layer frozen = make_layer<Widened>(), trained = make_layer<Widened>();
  frozen->trainable = false;
  EXPECT_EQ(result_of(frozen, {3}), (Shape{kRows, 6}));
  result_of(trained, {3});
  EXPECT_EQ(frozen.weights().size(), 2u);
  EXPECT_FALSE(frozen->sublayers()[0]->trainable);
  EXPECT_EQ(trained.trainable_weights().size(), 2u);
}

// As a user writes it: no word of the tracer.
TEST(Layer, CallsLayersOfItsOwn) {
  const Layer layer = make_layer<Composite>(std::vector<Layer>{Dense(4, "relu"), Dense(2)});
  const Symbol x = Input({3});
  EXPECT_EQ(layer(x).shape(), (Shape{kRows, 2}));
  EXPECT_EQ(layer.trainable_weights().size(), 4u);
}

// A loss on what it sees, as a variational encoder has.
class Measured final : public LayerDefinition {
 public:
  std::string_view class_name() const override { return "Measured"; }
  void settings(SettingVisitor&) override {}
  Values call(Tracer& tracer, const Values& in) override {
    tracer.add_loss(MeanSquaredError()(ops::multiply_scalar(in[0], 0), in[0]));
    return in;
  }
};

TEST(Layer, AddsALoss) {
  Graph graph;
  Tracer tracer(graph, /*training=*/true);
  const Value x = graph.input("x", {DType::float32, {kRows, 3}});
  call_layer(std::make_shared<Measured>(), tracer, {x});
  EXPECT_EQ(tracer.losses().size(), 1u);
}

class Twice final : public LayerDefinition {
 public:
  std::string_view class_name() const override { return "Twice"; }
  void settings(SettingVisitor&) override {}
  Values call(Tracer&, const Values& in) override { return {in[0], ops::negate(in[0])}; }
};

TEST(Layer, DropsNoneOfItsValues) {
  const Symbol x = Input({3});
  const Layer twice = make_layer<Twice>();
  EXPECT_EQ(twice.call({x}).size(), 2u);
  EXPECT_EQ(error_of([&] { twice(x); }),
            "twice: it gives 2 values, and one was asked for; use call({x}), which gives all");
}

}  // namespace
}  // namespace snug::testing
