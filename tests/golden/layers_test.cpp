// Every layer against a real Keras: outputs, gradients and updated averages (README.md).

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "keras_config.h"
#include "snug/nn/activation.h"
#include "snug/nn/layer_list.h"
#include "snug/nn/preprocessing.h"
#include "snug/testing/layer_run.h"
#include "snug/testing/npz.h"

namespace snug::testing {
namespace {

// Classes that come with a later issue.
const std::set<std::string> kLater = {
    "LSTM",       "GRU", "SimpleRNN", "Bidirectional", "TimeDistributed", "MultiHeadAttention",
    "EinsumDense"};

// Keys that Keras 3.15 writes and older versions refuse; Snug neither writes nor needs them.
const std::set<std::string> kNewKeys = {
    "name",   "trainable",       "dtype",          "quantization_config",
    "renorm", "renorm_clipping", "renorm_momentum"};

Json read_json(const std::string& name) { return Json::parse(read_text(golden_path(name))); }

double largest(const Doubles& values) {
  double most = 0;
  for (const double value : values) most = std::max(most, std::abs(value));
  return most;
}

void expect_near(const Doubles& actual, const Doubles& expected, double tolerance,
                 const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  const double bound = tolerance * std::max(largest(expected), 1e-3);
  for (size_t i = 0; i < actual.size(); ++i)
    ASSERT_NEAR(actual[i], expected[i], bound) << what << ", element " << i;
}

// One case of layers/index.json.
class LayerCase {
 public:
  explicit LayerCase(const Json& described)
      : described_(described), npz_(golden_path(described.at("file").get<std::string>())) {}

  void check() {
    Layer layer = make();
    LayerRun run(layer, input_types(), options());
    check_weights(layer);
    run.prepare(/*threads=*/2);
    set_weights(layer);
    for (size_t i = 0; i < run.inputs().size(); ++i) run.give(run.inputs()[i], array("x", i));
    if (npz_.contains("mask")) run.give(run.mask_input(), npz_["mask"].doubles());
    run.give(run.upstream(), array("g", 0));
    run.run();
    expect("y0", run.read(run.y));
    if (npz_.contains("out_mask")) {
      EXPECT_EQ(run.read(run.output_mask()), npz_["out_mask"].doubles());
    }
    check_gradients(run, layer);
    const Variables weights = layer.weights();
    const auto after = layer.get_weights();
    for (size_t i = 0; i < weights.size(); ++i) {
      const std::string name = "w" + std::to_string(i) + "_after";
      if (npz_.contains(name)) expect(name, Doubles(after[i].begin(), after[i].end()));
    }
  }

 private:
  Layer make() const {
    Layer layer = find_layer(described_.at("layer").at("class_name").get<std::string>()).make();
    const Json& config = described_.at("config");
    std::vector<std::string> names = read_settings(*layer.definition(), config);
    std::vector<std::string> keys;
    for (const auto& [key, value] : config.items()) {
      if (!kNewKeys.contains(key)) keys.push_back(key);
    }
    // Keras writes it for Dense only where it is set.
    if (!config.contains("activity_regularizer")) std::erase(names, "activity_regularizer");
    EXPECT_EQ(names, keys);
    return layer;
  }

  Types input_types() const {
    Types types;
    for (int i = 0; npz_.contains("x" + std::to_string(i)); ++i)
      types.push_back(npz_["x" + std::to_string(i)].type);
    return types;
  }

  LayerRun::Options options() const {
    LayerRun::Options options{.training = described_.at("training").get<bool>()};
    if (npz_.contains("mask")) options.mask = npz_["mask"].type;
    return options;
  }

  Doubles array(const std::string& letter, size_t i) const {
    return npz_[letter + std::to_string(i)].doubles();
  }

  void check_weights(const Layer& layer) const {
    std::vector<std::string> names;
    std::vector<bool> trainable;
    for (const VariablePtr& variable : layer.weights()) {
      EXPECT_EQ(variable->type().shape, npz_["w" + std::to_string(names.size())].type.shape);
      names.push_back(variable->name());
      trainable.push_back(variable->trainable());
    }
    EXPECT_EQ(names, described_.at("weights").get<std::vector<std::string>>());
    EXPECT_EQ(trainable, described_.at("trainable").get<std::vector<bool>>());
  }

  void set_weights(const Layer& layer) const {
    std::vector<std::vector<float>> values;
    for (size_t i = 0; i < layer.weights().size(); ++i) {
      const Doubles given = array("w", i);
      values.emplace_back(given.begin(), given.end());
    }
    layer.set_weights(values);
  }

  void check_gradients(const LayerRun& run, const Layer& layer) const {
    const size_t inputs = run.inputs().size();
    for (size_t i = 0; i < run.gradients().size(); ++i) {
      const std::string name =
          i < inputs ? "dx" + std::to_string(i) : weight_gradient(layer, i - inputs);
      if (!npz_.contains(name)) continue;
      ASSERT_TRUE(run.gradients()[i]) << name;
      expect(name, run.read(run.gradients()[i]));
    }
  }

  // Gradients are numbered as the weights are, which include those that are not trained.
  static std::string weight_gradient(const Layer& layer, size_t trained) {
    const Variables weights = layer.weights();
    const VariablePtr variable = layer.trainable_weights()[trained];
    return "dw" + std::to_string(std::ranges::find(weights, variable) - weights.begin());
  }

  void expect(const std::string& name, const Doubles& actual) const {
    const double keras = described_.at("keras_float32_rel_err").value(name, 0.0);
    expect_near(actual, npz_[name].doubles(), std::max(1e-6, 4 * keras), name);
  }

  const Json& described_;
  Npz npz_;
};

// Three training calls, then inference on the first input.
void check_three_steps(const Json& described) {
  const Npz npz(golden_path(described.at("file").get<std::string>()));
  Layer layer = find_layer("BatchNormalization").make();
  read_settings(*layer.definition(), described.at("layer").at("kwargs"));
  const Types types = {npz["x0"].type};
  LayerRun training(layer, types, {.training = true, .gradients = false});
  training.prepare();
  if (npz.contains("w0")) {
    std::vector<std::vector<float>> start;
    for (int i = 0; i < 4; ++i) {
      const Doubles given = npz["w" + std::to_string(i)].doubles();
      start.emplace_back(given.begin(), given.end());
    }
    layer.set_weights(start);
  }
  for (const std::string step : {"0", "1", "2"}) {
    training.give(training.inputs()[0], npz["x" + step].doubles());
    training.run();
    expect_near(training.read(training.y), npz["y" + step].doubles(), 1e-6, "y" + step);
    const auto weights = layer.get_weights();
    expect_near(Doubles(weights[2].begin(), weights[2].end()),
                npz["moving_mean_after" + step].doubles(), 1e-6, "mean after " + step);
    expect_near(Doubles(weights[3].begin(), weights[3].end()),
                npz["moving_variance_after" + step].doubles(), 1e-6, "variance after " + step);
  }
  LayerRun inference(layer, types, {.gradients = false});
  inference.prepare();
  inference.give(inference.inputs()[0], npz["x0"].doubles());
  inference.run();
  expect_near(inference.read(inference.y), npz["y_inference"].doubles(), 1e-6, "inference");
}

void check_adapt(const Json& described) {
  const Npz npz(golden_path(described.at("file").get<std::string>()));
  const Array& x = npz["x0"];
  const int64_t row = x.type.shape.size() / x.type.shape[0];
  for (const int64_t chunk : {x.type.shape[0], int64_t{3}}) {
    const Normalization layer;
    const std::span<const float> data = x.as<float>();
    layer.adapt(data.first(chunk * row), x.type.shape.part(1, x.type.shape.rank()));
    for (int64_t first = chunk; first < x.type.shape[0]; first += chunk)
      layer.adapt_further(
          data.subspan(first * row, std::min(chunk, x.type.shape[0] - first) * row));
    LayerRun run(layer, {x.type}, {.gradients = false});
    run.prepare();
    run.give(run.inputs()[0], x.doubles());
    run.run();
    expect_near(run.read(run.y), npz["y0"].doubles(), 2e-6, "y0");
    const auto weights = layer.get_weights();
    expect_near(Doubles(weights[0].begin(), weights[0].end()), npz["mean"].doubles(), 2e-6, "mean");
    expect_near(Doubles(weights[1].begin(), weights[1].end()), npz["variance"].doubles(), 2e-6,
                "variance");
  }
}

TEST(Golden, Layers) {
  const Json index = read_json("layers/index.json");
  int checked = 0;
  std::string skipped;
  for (const Json& described : index) {
    const auto name = described.at("name").get<std::string>();
    const auto class_name = described.at("layer").at("class_name").get<std::string>();
    if (kLater.contains(class_name)) {
      skipped += (skipped.empty() ? "" : ", ") + name;
      continue;
    }
    SCOPED_TRACE(name);
    ++checked;
    if (name.starts_with("batchnorm_3steps"))
      check_three_steps(described);
    else if (name.starts_with("normalization_adapt"))
      check_adapt(described);
    else
      LayerCase(described).check();
  }
  std::printf("layers: %d of %zu cases (skipped: %s)\n", checked, index.size(), skipped.c_str());
  EXPECT_EQ(checked, 76);
}

// Settings of activations are those of layers; the cases with arguments go straight to the ops.
Value activate(Tracer& tracer, const Json& described, Value x) {
  const Json& arguments = described.at("kwargs");
  const auto name = described.at("function").get<std::string>();
  if (arguments.empty()) return apply_activation(tracer, name, x);
  if (name == "relu") {
    return ops::relu(x, {.negative_slope = arguments.at("negative_slope"),
                         .max_value = arguments.at("max_value"),
                         .threshold = arguments.at("threshold")});
  }
  if (name == "leaky_relu") return ops::leaky_relu(x, arguments.at("negative_slope"));
  if (name == "elu") return ops::elu(x, arguments.at("alpha"));
  return ops::gelu(x, arguments.at("approximate"));
}

TEST(Golden, Activations) {
  const Npz npz(golden_path("activations.npz"));
  const Json index = read_json("activations.json");
  for (const Json& described : index) {
    const auto name = described.at("name").get<std::string>();
    SCOPED_TRACE(name);
    const auto input = described.at("input").get<std::string>();
    const Type& type = npz[input].type;
    Graph graph;
    Tracer tracer(graph, /*training=*/false);
    const Value x = graph.input("x", type), g = graph.input("g", type);
    const Value y = activate(tracer, described, x);
    EXPECT_EQ(tracer.logits(y).has_value(), name == "softmax" || name == "sigmoid");
    const Doubles upstream = described.at("upstream") == "ones" ? Doubles(type.shape.size(), 1)
                                                                : npz["g_rows"].doubles();
    const std::vector<Bytes> results = run_graph(
        graph, {y, gradients(y, g, {x})[0]},
        {to_bytes(npz[input].doubles(), DType::float32), to_bytes(upstream, DType::float32)},
        {.rows = 1});
    const Json& errors = described.at("keras_float32_abs_err");
    for (const int part : {0, 1}) {
      const Doubles actual = to_doubles(results[part], DType::float32);
      const Doubles expected = npz[name + (part == 0 ? "_y" : "_dx")].doubles();
      ASSERT_EQ(actual.size(), expected.size());
      for (size_t i = 0; i < actual.size(); ++i) {
        const double bound =
            std::max({1e-6, 1e-6 * std::abs(expected[i]), 4 * errors[part].get<double>()});
        EXPECT_NEAR(actual[i], expected[i], bound) << (part == 0 ? "y" : "dx") << ", element " << i;
      }
    }
  }
  std::printf("activations: %zu of %zu cases\n", index.size(), index.size());
}

}  // namespace
}  // namespace snug::testing
