#include "snug/nn/activation_layers.h"

#include "snug/testing/layer_call.h"
#include "snug/testing/layer_run.h"

namespace snug::testing {
namespace {

TEST(ActivationLayers, KeepTheShape) {
  for (const Layer& layer : {Activation("relu"), Identity(), ReLU(), LeakyReLU(), ELU(), Softmax(),
                             Softmax(1), PReLU()}) {
    EXPECT_EQ(result_of(layer, {5, 4}), (Shape{kRows, 5, 4})) << layer->class_name();
  }
}

TEST(ActivationLayers, Weights) {
  const Layer plain = PReLU(), shared = PReLU({.shared_axes = {{1, 2}}});
  result_of(plain, {5, 4, 3});
  result_of(shared, {5, 4, 3});
  EXPECT_EQ(weights_of(plain), "alpha [5, 4, 3]");
  EXPECT_EQ(weights_of(shared), "alpha [1, 1, 3]");
}

TEST(ActivationLayers, SoftmaxRemembersItsLogits) {
  const auto remembered = [](const Layer& layer) {
    LayerRun run(layer, {{DType::float32, {2, 3, 4}}}, {.gradients = false});
    return run.tracer().logits(run.y).has_value();
  };
  EXPECT_TRUE(remembered(Softmax()));
  EXPECT_TRUE(remembered(Softmax(2)));
  EXPECT_FALSE(remembered(Softmax(1)));
  EXPECT_TRUE(remembered(Activation("sigmoid")));
}

TEST(ActivationLayers, MasksPass) {
  for (const Layer& layer : {Activation("relu"), ReLU(), Softmax(), PReLU(), Identity()}) {
    const LayerRun run(layer, {{DType::float32, {2, 3, 4}}},
                       {.mask = Type{DType::boolean, {2, 3}}, .gradients = false});
    EXPECT_EQ(run.output_mask(), run.mask_input()) << layer->class_name();
  }
}

TEST(ActivationLayers, Messages) {
  expect_contains(error_of([] { Activation("sofmax"); }), "did you mean \"softmax\"");
  EXPECT_EQ(error_of([] { ReLU({.max_value = -1}); }),
            "re_lu: max_value, negative_slope and threshold must be 0 or more");
  EXPECT_EQ(error_on(PReLU({.shared_axes = {{3}}}), {5, 4}),
            "p_re_lu: shared_axes has 3, but [rows, 5, 4] has the axes 1 to 2 behind its rows");
  expect_contains(error_on(Softmax(3), {4}), "softmax");
}

}  // namespace
}  // namespace snug::testing
