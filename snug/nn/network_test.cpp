#include "snug/nn/network.h"

#include <set>

#include "snug/nn/dense.h"
#include "snug/testing/composite_layer.h"
#include "snug/testing/layer_call.h"

namespace snug::testing {
namespace {

Layer composite(const std::vector<Layer>& inner) { return make_layer<Composite>(inner); }

std::shared_ptr<Network> around(const Layer& layer) {
  auto network = Network::sequential({Input({3}), layer}, "model");
  network->set_paths();
  return network;
}

std::vector<std::string> paths_of(const Layer& layer) {
  std::vector<std::string> paths;
  for (const VariablePtr& weight : layer.weights()) paths.push_back(weight->path());
  return paths;
}

// Every weight has a path of its own, and so first values of its own, however deep it stands.
TEST(Network, PathsOfLayersInsideLayers) {
  const Layer a = Dense(3, {.use_bias = false}), b = Dense(3, {.use_bias = false});
  const Layer deep = composite({Dense(3, {.use_bias = false})});
  const auto nested = Network::sequential({Input({3}), Dense(3, {.use_bias = false})}, "");
  const Layer named = Dense(3, {.use_bias = false, .name = "own"});
  const auto network = around(composite({a, b, deep, Layer(nested), named}));
  EXPECT_EQ(
      paths_of(Layer(network)),
      (std::vector<std::string>{"composite/dense/kernel", "composite/dense_1/kernel",
                                "composite/composite/dense/kernel",
                                "composite/sequential/dense/kernel", "composite/own/kernel"}));
  std::set<std::vector<float>> kernels;
  for (const std::vector<float>& kernel : Layer(network).get_weights()) kernels.insert(kernel);
  EXPECT_EQ(kernels.size(), 5u);
}

TEST(Network, NamesGivenTwiceInsideALayer) {
  const Layer a = Dense(3, {.name = "same"}), b = Dense(3, {.name = "same"});
  EXPECT_EQ(error_of([&] {
              around(composite({a, b}));
            }),
            "the name \"same\" is used twice in composite; layers of a model need different names");
  // One layer that is listed twice is one.
  EXPECT_EQ(paths_of(Layer(around(composite({a, a})))).size(), 2u);
}

}  // namespace
}  // namespace snug::testing
