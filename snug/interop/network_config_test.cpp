#include "snug/interop/network_config.h"

#include <gtest/gtest.h>

#include "snug/base/error.h"
#include "snug/interop/config_writer.h"
#include "snug/interop/keras_file.h"
#include "snug/interop/network_text.h"
#include "snug/interop/weight_groups.h"
#include "snug/nn/activation_layers.h"
#include "snug/nn/convolution.h"
#include "snug/nn/dense.h"
#include "snug/nn/dropout.h"
#include "snug/nn/merging.h"
#include "snug/nn/normalization.h"
#include "snug/nn/operation.h"
#include "snug/nn/operators.h"

namespace snug {
namespace {

Json input(const char* name, const Json& shape = {nullptr, 4}) {
  return {{"class_name", "InputLayer"},
          {"name", name},
          {"config", {{"batch_shape", shape}, {"dtype", "float32"}, {"name", name}}},
          {"inbound_nodes", Json::array()}};
}

Json tensor(const char* layer, int call = 0, int output = 0) {
  return {{"class_name", "__keras_tensor__"},
          {"config", {{"keras_history", {layer, call, output}}}}};
}

Json call(const Json& arguments) { return {{"args", arguments}, {"kwargs", Json::object()}}; }

Json layer(const char* class_name, const char* name, const Json& config, const Json& nodes) {
  Json all = config;
  all["name"] = name;
  return {{"class_name", class_name}, {"name", name}, {"config", all}, {"inbound_nodes", nodes}};
}

Json functional(const Json& layers, const Json& inputs, const Json& outputs) {
  return {{"class_name", "Functional"},
          {"config",
           {{"name", "net"},
            {"layers", layers},
            {"input_layers", inputs},
            {"output_layers", outputs}}}};
}

// As it stands in a file: numbers that were parsed are another kind than those of C++.
std::shared_ptr<Network> read_parsed(const Json& model) {
  return read_network(Json::parse(model.dump()));
}

Layer read_layer(const Json& layer) {
  CallCount calls;
  return snug::read_layer(layer, calls);
}

std::vector<std::string> names(const Network& network) {
  std::vector<std::string> names;
  for (const LayerPtr& layer : network.layers()) names.push_back(layer->name);
  return names;
}

std::string refusal(const Json& model) {
  try {
    read_parsed(model);
  } catch (const Error& error) {
    return error.what();
  }
  return "it was read";
}

// A functional model of one layer, called with these keywords.
Json called_with(const char* class_name, const Json& config, const Json& keywords) {
  Json node = call({tensor("in")});
  node["kwargs"] = keywords;
  return functional(
      {input("in", {nullptr, 4, 4, 1}), layer(class_name, "l", config, Json::array({node}))},
      {"in", 0, 0}, {"l", 0, 0});
}

const Json kUnits = {{"units", 3}};

// A chain of calls of one layer, or of a model that is such a chain of the next, and so on.
Json nested(int depth, int calls) {
  const auto link = [](int i) { return call({i == 0 ? tensor("in") : tensor("m", i - 1)}); };
  Json inner = layer("Activation", "m", {{"activation", "relu"}}, Json::array());
  if (depth > 0) inner = nested(depth - 1, calls);
  inner["name"] = inner["config"]["name"] = "m";
  inner["inbound_nodes"] = Json::array();
  for (int i = 0; i < calls; ++i) inner["inbound_nodes"].push_back(link(i));
  const int last = depth > 0 ? calls : calls - 1;  // Ends count a model's calls from 1.
  return functional(Json::array({input("in"), inner}), {"in", 0, 0}, {"m", last, 0});
}

// 9 levels of 8 calls are 5 kB and would be 134 million layers.
TEST(ReadNetwork, BoundsTheCallsOfModelsInModels) {
  EXPECT_EQ(read_parsed(nested(3, 8))->calls().size(), 9);
  const std::string reason = refusal(nested(5, 8));
  EXPECT_NE(reason.find("layer \"m\" (Functional): with its models in models"), std::string::npos)
      << reason;
  EXPECT_NE(refusal(nested(9, 8)).find("more than 100000 layers"), std::string::npos);
  Json stack = Json::array({input("in"), nested(3, 8)});
  const Json sequential = {{"class_name", "Sequential"}, {"config", {{"name", "s"}}}};
  const auto with_more = [&](int more) {
    Json model = sequential;
    model["config"]["layers"] = stack;
    for (int i = 0; i < more; ++i) {
      model["config"]["layers"].push_back(
          layer("Activation", fmt::format("l{}", i).c_str(), {{"activation", "relu"}}, {}));
    }
    return model;
  };
  EXPECT_EQ(read_parsed(with_more(3))->layers().size(), 4);
  EXPECT_NE(refusal(with_more(30)).find("more than 100000 layers"), std::string::npos);
  EXPECT_NE(refusal(nested(0, 10'001)).find("10001 calls"), std::string::npos);
}

TEST(ReadNetwork, CallsAsManyAsThereAreFromTheLastToTheFirst) {
  Json layers = Json::array();
  for (int i = 2000; i > 0; --i) {
    const std::string before = i == 1 ? "in" : fmt::format("l{}", i - 1);
    layers.push_back(layer("Activation", fmt::format("l{}", i).c_str(), {{"activation", "relu"}},
                           Json::array({call({tensor(before.c_str())})})));
  }
  layers.push_back(input("in"));
  EXPECT_EQ(read_parsed(functional(layers, {"in", 0, 0}, {"l2000", 0, 0}))->calls().size(), 2001);
}

TEST(ReadNetwork, CallsInWhateverOrderTheyStand) {
  const auto network = read_parsed(functional(
      Json::array({layer("Dense", "second", kUnits, Json::array({call({tensor("first")})})),
                   layer("Dense", "first", kUnits, Json::array({call({tensor("in")})})),
                   input("in")}),
      {"in", 0, 0}, {"second", 0, 0}));
  EXPECT_EQ(names(*network), (std::vector<std::string>{"in", "first", "second"}));
  EXPECT_FALSE(network->input_ends.is_list);
}

TEST(ReadNetwork, ReadsTheFormsOfKeras2) {
  Json in = input("in");
  in["config"].erase("batch_shape");
  in["config"]["batch_input_shape"] = {nullptr, 4};
  const auto nodes = [](const Json& tensors) { return Json::array({tensors}); };
  const auto network = read_parsed(functional(
      Json::array(
          {in, layer("Dense", "a", kUnits, nodes(Json::array({{"in", 0, 0, Json::object()}}))),
           layer("Dense", "b", kUnits, nodes(Json::array({{"in", 0, 0, Json::object()}}))),
           layer("Add", "sum", Json::object(),
                 nodes(Json::array({{"a", 0, 0, Json::object()}, {"b", 0, 0, Json::object()}})))}),
      Json::array({{"in", 0, 0}}), Json::array({{"sum", 0, 0}})));
  EXPECT_EQ(names(*network), (std::vector<std::string>{"in", "a", "b", "sum"}));
  EXPECT_TRUE(network->input_ends.is_list);
  EXPECT_TRUE(network->output_ends.is_list);
}

TEST(ReadNetwork, TellsOperatorsFromLayers) {
  const Json a = layer("Dense", "a", kUnits, Json::array({call({tensor("in")})}));
  const Json as_layer =
      layer("Add", "sum", Json::object(), Json::array({call({{tensor("a"), tensor("a")}})}));
  const Json as_operator =
      layer("Add", "sum", Json::object(), Json::array({call({tensor("a"), tensor("a")})}));
  const Json with_number =
      layer("Multiply", "sum", Json::object(), Json::array({call({2.0, tensor("a")})}));
  const auto read = [&](const Json& sum) {
    return read_parsed(functional(Json::array({input("in"), a, sum}), {"in", 0, 0}, {"sum", 0, 0}));
  };
  EXPECT_EQ(names(*read(as_layer)).size(), 3);
  EXPECT_EQ(names(*read(as_operator)).size(), 2);
  const auto scaled = read(with_number);
  const auto& operation = dynamic_cast<const Operation&>(*scaled->layers_and_operations().back());
  EXPECT_EQ(operation.arguments().number, 2.0);
  EXPECT_TRUE(operation.arguments().number_first);
}

Json slice(const Json& start, const Json& stop, const Json& step) {
  return {{"class_name", "__slice__"},
          {"config", {{"start", start}, {"stop", stop}, {"step", step}}}};
}

// As Keras 3.15.1 wrote it, of keras.ops on an input of [None, 4].
Json operation(const char* class_name, const char* module, Json config, Json args) {
  Json json = layer(class_name, "sum", std::move(config),
                    Json::array({{{"args", std::move(args)}, {"kwargs", Json::object()}}}));
  json["module"] = module;
  json["registered_name"] = class_name;
  return json;
}

struct OperationCase {
  const char *class_name, *module;
  Json config, args;
  Shape result;
};

template <typename... Items>
Json list(const Items&... items) {
  Json json = Json::array();
  (json.push_back(Json(items)), ...);
  return json;
}

std::vector<OperationCase> operation_cases() {
  constexpr const char *kNumpy = "keras.src.ops.numpy", *kNn = "keras.src.ops.nn";
  const Json x = tensor("in"), none = Json::object(), one = list(x);
  const Json all = slice(nullptr, nullptr, nullptr);
  const Json ellipsis = {{"class_name", "__ellipsis__"}, {"config", Json::object()}};
  return {{"Power", kNumpy, none, list(x, 2.0), {kRows, 4}},
          {"Power", kNumpy, none, list(2.0, x), {kRows, 4}},
          {"Maximum", kNumpy, none, list(x, x), {kRows, 4}},
          {"Exp", kNumpy, none, one, {kRows, 4}},
          {"Erf", "keras.src.ops.math", none, one, {kRows, 4}},
          {"Sigmoid", kNn, none, one, {kRows, 4}},
          {"Gelu", kNn, {{"approximate", true}}, one, {kRows, 4}},
          {"Softmax", kNn, {{"axis", -1}}, one, {kRows, 4}},
          {"LeakyRelu", kNn, {{"negative_slope", 0.25}}, one, {kRows, 4}},
          {"Clip", kNumpy, {{"x_min", 0.0}, {"x_max", nullptr}}, one, {kRows, 4}},
          {"Sum", kNumpy, {{"axis", list(1)}, {"keepdims", true}}, one, {kRows, 1}},
          {"Reshape", kNumpy, {{"newshape", list(-1, 2, 2)}}, one, {kRows, 2, 2}},
          {"Transpose", kNumpy, {{"axes", list(0, 1)}}, one, {kRows, 4}},
          {"ExpandDims", kNumpy, {{"axis", 1}}, one, {kRows, 1, 4}},
          {"Squeeze", kNumpy, {{"axis", nullptr}}, one, {kRows, 4}},
          {"Concatenate", kNumpy, {{"axis", -1}}, list(list(x, x)), {kRows, 8}},
          {"StopGradient", "keras.src.ops.core", none, one, {kRows, 4}},
          {"GetItem", kNumpy, none, list(x, list(all, 0)), {kRows}},
          {"GetItem", kNumpy, none, list(x, list(all, slice(1, -1, 2))), {kRows, 1}},
          {"GetItem",
           kNumpy,
           none,
           list(x, list(ellipsis, nullptr, slice(nullptr, 3, nullptr))),
           {kRows, 1, 3}}};
}

// The names of tensors in the place of them: they have their shapes where they are written.
void name_tensors(Json& value) {
  if (value.is_object() && text_at(value, "class_name") == "__keras_tensor__")
    value = Json(value["config"]["keras_history"][0]);
  if (!value.is_array()) return;
  for (Json& item : value) name_tensors(item);
}

TEST(ReadNetwork, OperationsOfKeras) {
  for (const OperationCase& one : operation_cases()) {
    const Json json = operation(one.class_name, one.module, one.config, one.args);
    const auto network =
        read_parsed(functional(Json::array({input("in"), json}), {"in", 0, 0}, {"sum", 0, 0}));
    EXPECT_EQ(network->output_types()[0].shape, one.result) << one.class_name;
    EXPECT_EQ(network->layers().size(), 1u);
    const Json written = Json::parse(write_network(*network).dump())["config"]["layers"][1];
    for (const char* key : {"module", "class_name", "registered_name"})
      EXPECT_EQ(written[key], json[key]) << one.class_name;
    Json config = one.config;
    config["name"] = "sum";
    EXPECT_EQ(written["config"], config) << one.class_name;
    Json args = written["inbound_nodes"][0]["args"], given = one.args;
    name_tensors(args);
    name_tensors(given);
    EXPECT_EQ(args, given) << one.class_name;
  }
}

TEST(ReadNetwork, RefusesOperationsByName) {
  const auto expect = [](const char* class_name, const Json& config, const Json& args,
                         const char* part) {
    const Json json = operation(class_name, "keras.src.ops.numpy", config, args);
    const std::string text =
        refusal(functional(list(input("in"), json), {"in", 0, 0}, {"sum", 0, 0}));
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  const Json x = tensor("in"), none = Json::object(), one = list(x);
  const Json other = {{"class_name", "__other__"}};
  expect("Einsum", {{"subscripts", "ij,kj->ik"}}, list(x, x),
         "layer \"sum\" (Einsum): there is no operation \"Einsum\"");
  expect("GetItem", none, list(x, 0), "the rows of the batch");
  expect("GetItem", none, list(x, list(other)), "the index");
  expect("GetItem", none, list(x, slice(0.5, nullptr, nullptr)), "the index");
  expect("Sum", {{"axis", nullptr}, {"keepdims", false}}, one, "the rows of the batch");
  expect("Exp", {{"base", 2}}, one, "base");
  expect("Exp", none, list(x, 2.0), "it takes 1 values, got 2");
}

TEST(ReadNetwork, KeepsNamedEndsInTheOrderOfTheirKeys) {
  const Json a = layer("Dense", "a", kUnits, Json::array({call({tensor("in")})}));
  const Json b = layer("Dense", "b", kUnits, Json::array({call({tensor("in")})}));
  const auto network = read_parsed(functional(Json::array({input("in"), a, b}), {"in", 0, 0},
                                              {{"second", {"a", 0, 0}}, {"first", {"b", 0, 0}}}));
  EXPECT_EQ(network->output_ends.keys, (std::vector<std::string>{"first", "second"}));
  EXPECT_EQ(network->output_names(), (std::vector<std::string>{"b", "a"}));
  const OrderedJson written = write_network(*network);
  EXPECT_EQ(written["config"]["output_layers"]["second"][0], "a");
}

// Layer by layer, whatever they are called.
TEST(ReadNetwork, IsWrittenAsTextAsItIsWrittenWhole) {
  const char* odd = R"("layers":[])";
  const Json a = layer("Dense", odd, kUnits, Json::array({call({tensor("in")})}));
  const auto network =
      read_parsed(functional(Json::array({input("in"), a}), {"in", 0, 0}, {odd, 0, 0}));
  const auto list = Network::sequential({Input({4}), Dense(2)}, odd);
  for (Network* each : {network.get(), list.get()})
    EXPECT_EQ(OrderedJson::parse(model_json(*each)), write_network(*each));
}

// A layer in a model in a model of the other kind, and so on.
Layer nested_layer(int depth) {
  if (depth == 0) return Dense(4);
  const Layer inner = nested_layer(depth - 1);
  if (depth % 2 == 0) return Layer(Network::sequential({Input({4}), inner, Dense(4)}, "layers"));
  const Symbol x = Input({4});
  return Layer(Network::functional({x}, {inner(inner(x)) + x}, "config"));
}

TEST(ReadNetwork, IsWrittenAsTextWithTheModelsInIt) {
  for (const int depth : {2, 3, 4}) {
    SCOPED_TRACE(depth);
    const Layer layer = nested_layer(depth);
    auto& network = dynamic_cast<Network&>(*layer.definition());
    network.set_paths();
    const OrderedJson whole = write_network(network);
    EXPECT_EQ(OrderedJson::parse(model_json(network)), whole);
    const OrderedJson& inner = whole["config"]["layers"][1];
    EXPECT_EQ(inner["config"]["layers"].size(), 3u) << inner;
    EXPECT_EQ(inner.contains("inbound_nodes"), !network.is_sequential());
    EXPECT_EQ(read_network(Json::parse(whole.dump()))->layers().size(), network.layers().size());
  }
}

// The estimate is no less than the text of usual layers.
TEST(ReadNetwork, HasATextOfAboutTheLengthThatIsCounted) {
  const Symbol x = Input({8, 8, 4});
  Symbol y = x;
  for (int i = 0; i < 10; ++i) {
    const Symbol branch = BatchNormalization()(Conv2D(4, 3, {.padding = "same"})(y));
    y = Activation("relu")(Concatenate()(Symbols{y, branch, x * 2})) + 1;
  }
  const auto convolutions = Network::functional({x}, {y}, "convolutions");
  const auto dense = Network::sequential({Input({4}), Dense(4), Dense(4), Dense(4)}, "dense");
  const Layer both(Network::sequential({Input({4}), Layer(dense), Dense(4)}, "both"));
  for (Network* network :
       {convolutions.get(), dense.get(), &dynamic_cast<Network&>(*both.definition())}) {
    network->set_paths();
    const size_t bytes = model_json(*network).size(), counted = network_text_bytes(*network);
    EXPECT_LE(bytes, counted);
    EXPECT_LE(counted, 3 * bytes);
  }
}

TEST(ReadNetwork, KeepsWhatIsFrozen) {
  Json config = kUnits;
  config["trainable"] = false;
  const auto network = read_parsed(functional(
      Json::array({input("in"), layer("Dense", "a", config, Json::array({call({tensor("in")})}))}),
      {"in", 0, 0}, {"a", 0, 0}));
  EXPECT_FALSE(network->layers()[1]->trainable);
  EXPECT_EQ(write_network(*network)["config"]["layers"][1]["config"]["trainable"], false);
}

TEST(ReadNetwork, TakesIntegersOfAnyWidthAsInputs) {
  for (const char* dtype : {"int32", "int64", "uint8"}) {
    Json in = input("in");
    in["config"]["dtype"] = dtype;
    const Json embedding = layer("Embedding", "e", {{"input_dim", 5}, {"output_dim", 2}},
                                 Json::array({call({tensor("in")})}));
    const auto network =
        read_parsed(functional(Json::array({in, embedding}), {"in", 0, 0}, {"e", 0, 0}));
    EXPECT_EQ(network->input_types()[0].dtype, DType::int32);
  }
}

TEST(ReadNetwork, SaysWhatIsWrongAndWhere) {
  const Json nodes = Json::array({call({tensor("in")})});
  const auto with = [&](const Json& more) {
    return functional(Json::array({input("in"), more}), {"in", 0, 0}, {"a", 0, 0});
  };
  EXPECT_EQ(refusal(with(layer("LSTM", "a", kUnits, nodes))).substr(0, 41),
            "layer \"a\" (LSTM): Snug has no such layer;");
  EXPECT_EQ(refusal(with(layer("Dense", "a", {{"units", 0}}, nodes))).substr(0, 17),
            "layer \"a\" (Dense)");
  EXPECT_EQ(refusal(with(layer("Conv2D", "a", {{"filters", 2}, {"kernel_size", 3}}, nodes)))
                .substr(0, 18),
            "layer \"a\" (Conv2D)");
  EXPECT_EQ(refusal(with(layer("Dense", "in", kUnits, nodes))),
            "model (Functional): two layers are called \"in\"; the file is damaged");
  EXPECT_NE(refusal(with(layer("Reshape", "a", {{"target_shape", Json(20, 1)}}, nodes))),
            "it was read");
  EXPECT_NE(refusal(with(layer("Dropout", "a", {{"rate", 2.0}}, nodes))), "it was read");
  EXPECT_NE(refusal(Json()), "it was read");
  EXPECT_NE(refusal(Json::array()), "it was read");
  EXPECT_NE(refusal({{"class_name", "Sequential"}}), "it was read");
}

TEST(WriteNetwork, LeavesOutWhatSomeLayersDoNotTake) {
  const auto network =
      Network::sequential({Input({4, 4, 1}), Conv2D(2, 3), SpatialDropout2D(0.5), Dense(1)}, "net");
  network->set_paths();
  const OrderedJson layers = write_network(*network)["config"]["layers"];
  EXPECT_TRUE(layers[1]["config"].contains("activity_regularizer"));
  EXPECT_FALSE(layers[2]["config"].contains("trainable"));
  EXPECT_FALSE(layers[3]["config"].contains("activity_regularizer"));
  EXPECT_TRUE(layers[1].contains("build_config"));
  EXPECT_FALSE(layers[2].contains("build_config"));
}

TEST(WriteNetwork, WritesShapesWithOpenRows) {
  EXPECT_EQ(shape_json({kRows, 28, 28, 1}).dump(), "[null,28,28,1]");
  EXPECT_EQ(shape_json({}).dump(), "[]");
}

TEST(WeightGroups, NumberLayersOfOneClassInTheirOrder) {
  const auto network = Network::sequential(
      {Input({4}), Dense(3, {.name = "z"}), Dropout(0.5), Dense(2, {.name = "a"})}, "net");
  network->set_paths();
  std::vector<std::string> paths, layer_names;
  for (const WeightGroup& group : weight_groups(*network)) {
    paths.push_back(group.path);
    layer_names.push_back(group.name);
  }
  EXPECT_EQ(paths, (std::vector<std::string>{"vars", "layers/dense/vars", "layers/dropout/vars",
                                             "layers/dense_1/vars"}));
  EXPECT_EQ(layer_names, (std::vector<std::string>{"net", "z", "dropout", "a"}));
}

// As Keras 2 wrote them.
TEST(ReadLayer, KnowsTheOlderNamesOfSettings) {
  const Layer leaky = read_layer(Json::parse(
      R"({"class_name": "LeakyReLU", "config": {"name": "l", "alpha": 0.25, "trainable": true}})"));
  EXPECT_EQ(config_of(*leaky.definition())["negative_slope"], 0.25);
  const Layer norm = read_layer(
      Json::parse(R"({"class_name": "BatchNormalization", "config": {"name": "b", "axis": [3]}})"));
  EXPECT_EQ(config_of(*norm.definition())["axis"], 3);
  EXPECT_NO_THROW(read_layer(Json::parse(
      R"({"class_name": "Embedding", "config": {"name": "e", "input_dim": 5, "output_dim": 2,
          "input_length": 7}})")));
  EXPECT_THROW(read_layer(Json::parse(
                   R"({"class_name": "LeakyReLU", "config": {"name": "l", "alpha": "big"}})")),
               Error);
  EXPECT_THROW(read_layer(Json::parse(
                   R"({"class_name": "BatchNormalization", "config": {"axis": [1, 2]}})")),
               Error);
}

// Keras 2 names tensors by lists, and counts the calls of nested models from 1.
TEST(ReadNetwork, TakesNestedModelsAsKeras2NamesThem) {
  const auto old_input = [](const char* name) {
    return Json{{"class_name", "InputLayer"},
                {"name", name},
                {"config", {{"batch_input_shape", {nullptr, 4}}, {"name", name}}},
                {"inbound_nodes", Json::array()}};
  };
  const auto from = [](const char* layer, int call) {
    return Json::array({Json::array({layer, call, 0, Json::object()})});
  };
  Json inner =
      functional({old_input("b"), layer("Dense", "d", {{"units", 4}}, Json::array({from("b", 0)}))},
                 Json::array({Json::array({"b", 0, 0})}), Json::array({Json::array({"d", 0, 0})}));
  inner["name"] = "net";
  inner["inbound_nodes"] = Json::array({from("a", 0), from("net", 1)});
  Json outer = functional({old_input("a"), inner}, Json::array({Json::array({"a", 0, 0})}),
                          Json::array({Json::array({"net", 2, 0})}));
  outer["config"]["name"] = "outer";
  const auto network = read_parsed(outer);
  EXPECT_EQ(network->layers().size(), 2);
  outer["config"]["output_layers"][0][1] = 3;
  EXPECT_THROW(read_parsed(outer), Error) << "the nested model is called twice";
}

// Keras's own fit and predict decide about training, whatever a call of a functional model says.
TEST(ReadNetwork, TheTrainingOfACallSaysNothing) {
  const Json flip = called_with("RandomFlip", {{"mode", "horizontal"}}, {{"training", true}});
  EXPECT_EQ(refusal(flip), "it was read");
  EXPECT_EQ(refusal(called_with("BatchNormalization", {{"axis", -1}}, {{"training", false}})),
            "it was read");
  EXPECT_NE(refusal(called_with("RandomFlip", {}, {{"causal", true}})).find("causal = true"),
            std::string::npos);
}

// Keras calls it on a list, be it of one.
TEST(WriteNetwork, ALayerThatMergesHasAList) {
  const Symbol x = Input({4});
  const auto network = Network::functional({x}, {Add()(Symbols{x})}, "net");
  network->set_paths();
  const OrderedJson layers = write_network(*network)["config"]["layers"];
  const OrderedJson arguments = layers[1]["inbound_nodes"][0]["args"];
  ASSERT_TRUE(arguments[0].is_array()) << arguments;
  EXPECT_EQ(arguments[0].size(), 1u);
  EXPECT_EQ(read_network(Json::parse(write_network(*network).dump()))->layers().size(), 2u);
}

}  // namespace
}  // namespace snug
