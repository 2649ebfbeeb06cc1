// Settings, names and order, for every class that Snug has.
#include <gtest/gtest.h>

#include "keras_model.h"
#include "snug/interop/config_writer.h"
#include "snug/interop/weight_groups.h"
#include "snug/nn/dense.h"
#include "snug/nn/initializer.h"
#include "snug/nn/layer_list.h"
#include "snug/nn/loss_list.h"
#include "snug/nn/merging.h"
#include "snug/nn/operators.h"
#include "snug/testing/npz.h"

namespace snug::testing {
namespace {

// What is written is read back into an object that writes the same.
template <typename Object>
void expect_round_trip(Object& object, Object& fresh) {
  const OrderedJson written = config_of(object);
  const snug::Json read = snug::Json::parse(written.dump());
  read_config(fresh, read, "test");
  EXPECT_EQ(config_of(fresh), written) << object.class_name();
}

TEST(Settings, OfEveryClassGoToKerasAndBack) {
  for (const LayerEntry& entry : layer_list()) {
    const Layer layer = entry.make(), fresh = entry.make();
    expect_round_trip(*layer.definition(), *fresh.definition());
  }
  for (const std::string_view name : loss_classes())
    expect_round_trip(*default_loss(name), *default_loss(name));
  for (const std::string_view name : metric_classes())
    expect_round_trip(*default_metric(name), *default_metric(name));
  for (const char* name :
       {"adadelta", "adagrad", "adam", "adamax", "adamw", "lion", "nadam", "rmsprop", "sgd"}) {
    const Optimizer optimizer(name);
    const snug::Json written = snug::Json::parse(write_optimizer(optimizer).dump());
    EXPECT_EQ(write_optimizer(read_optimizer(written)), write_optimizer(optimizer)) << name;
  }
  for (const char* name : {"CosineDecay", "CosineDecayRestarts", "ExponentialDecay",
                           "InverseTimeDecay", "PiecewiseConstantDecay", "PolynomialDecay"}) {
    expect_round_trip(*make_schedule(name), *make_schedule(name));
  }
  for (const char* name :
       {"Zeros", "Ones", "Constant", "RandomNormal", "RandomUniform", "TruncatedNormal",
        "VarianceScaling", "GlorotUniform", "GlorotNormal", "HeNormal", "HeUniform", "LecunNormal",
        "LecunUniform", "Orthogonal", "Identity"}) {
    expect_round_trip(*make_initializer(name), *make_initializer(name));
  }
  for (const char* name : {"L1", "L2", "L1L2"})
    expect_round_trip(*make_regularizer(name), *make_regularizer(name));
}

// The configs that a real Keras wrote, through Snug and back: the same layers in the same order.
TEST(Settings, OfGoldenModelsKeepTheirOrder) {
  for (const char* name :
       {"residual", "multi_output", "autoencoder", "separable", "text_pool", "weighted_mlp",
        "class_weight_mlp", "two_branch", "cnn_bn", "seed_conv", "seed_dense"}) {
    SCOPED_TRACE(name);
    const Json meta =
        Json::parse(read_text(golden_path("fits/" + std::string(name) + "/meta.json")));
    const Model model = model_of(meta.at("model"));
    std::vector<std::string> have, want;
    for (const WeightGroup& group : weight_groups(model.network())) {
      have.push_back(group.path);
      for (size_t i = 0; i < group.variables.size(); ++i)
        have.push_back(fmt::format("{}/{}", group.path, i));
    }
    const Json none = Json::array();
    for (const Json& entry : meta.value("weights_h5_tree", none)) {
      const auto path = entry[0].get<std::string>();
      if (path.find("vars") != std::string::npos && !path.starts_with("optimizer"))
        want.push_back(path);
    }
    std::ranges::sort(have);
    std::ranges::sort(want);
    if (!want.empty()) {
      EXPECT_EQ(have, want);
    }
    const OrderedJson written = write_network(model.network());
    const auto again = read_network(snug::Json::parse(written.dump()));
    again->set_paths();
    EXPECT_EQ(write_network(*again), written);
  }
}

// "layers/dense/vars" and "layers/dense/vars/0 [3, 3]", sorted.
std::vector<std::string> tree_of(const Network& network) {
  std::vector<std::string> tree;
  for (const WeightGroup& group : weight_groups(network)) {
    tree.push_back(group.path);
    for (size_t i = 0; i < group.variables.size(); ++i) {
      tree.push_back(
          fmt::format("{}/{} {}", group.path, i, group.variables[i]->type().shape.text()));
    }
  }
  std::ranges::sort(tree);
  return tree;
}

std::vector<std::string> tree_of(const Json& entries) {
  std::vector<std::string> tree;
  for (const Json& entry : entries) {
    if (entry.is_string()) {
      tree.push_back(entry.get<std::string>());
      continue;
    }
    const Shape shape(entry[1].get<std::vector<int64_t>>());
    tree.push_back(fmt::format("{} {}", entry[0].get<std::string>(), shape.text()));
  }
  std::ranges::sort(tree);
  return tree;
}

// Random models of make_orders.py: shared and nested layers, operators, several inputs and outputs.
// The order of layers decides which weights a file gives to whom.
TEST(Order, OfRandomModelsIsKeras) {
  const Json models = Json::parse(read_text(golden_path("orders.json")));
  ASSERT_GE(models.size(), 200);
  for (size_t i = 0; i < models.size(); ++i) {
    SCOPED_TRACE(i);
    const auto network = read_network(snug::Json::parse(models[i].at("config").dump()));
    network->set_paths();
    std::vector<std::string> names;
    for (const LayerPtr& layer : network->layers()) names.push_back(layer->name);
    ASSERT_EQ(names, models[i].at("layers").get<std::vector<std::string>>());
    ASSERT_EQ(tree_of(*network), tree_of(models[i].at("tree")));
    const auto again = read_network(snug::Json::parse(write_network(*network).dump()));
    again->set_paths();
    ASSERT_EQ(tree_of(*again), tree_of(*network)) << "written and read again";
  }
  std::printf("%zu of %zu random models in Keras's order\n", models.size(), models.size());
}

TEST(Settings, OfNestedAndSharedModelsAreKept) {
  const Symbol a = Input({4}, {.name = "a"}), b = Input({4}, {.name = "b"});
  const Layer shared = Dense(3, {.name = "shared"});
  const Symbol inner_in = Input({3}, {.name = "inner_in"});
  const Model inner(inner_in, Dense(2, {.name = "inside"})(inner_in), "inner");
  const Symbol x = inner(shared(a)), y = inner(shared(b));
  const Symbol out = Concatenate()({2.0 * x - y, 1.0 / (x + 3.0), -y});
  const Model model({a, b}, {out, y});
  const OrderedJson written = write_network(model.network());
  const auto again = read_network(snug::Json::parse(written.dump()));
  again->set_paths();
  EXPECT_EQ(write_network(*again), written);
  std::vector<std::string> paths;
  for (const WeightGroup& group : weight_groups(*again)) paths.push_back(group.path);
  const std::vector<std::string> want = {"vars",
                                         "layers/input_layer/vars",
                                         "layers/dense/vars",
                                         "layers/input_layer_1/vars",
                                         "layers/functional/vars",
                                         "layers/functional/layers/input_layer/vars",
                                         "layers/functional/layers/dense/vars",
                                         "layers/concatenate/vars"};
  EXPECT_EQ(paths, want);
  // An end that is a nested model's counts its calls from 1, as in Keras.
  EXPECT_EQ(written["config"]["output_layers"][1][1], 2);
}

}  // namespace
}  // namespace snug::testing
