#include <map>
#include <set>

#include "snug/base/error.h"
#include "snug/interop/config_reader.h"
#include "snug/interop/declared_sizes.h"
#include "snug/interop/item_key.h"
#include "snug/interop/network_config.h"
#include "snug/interop/symbol_table.h"

namespace snug {
namespace {

// A walk over more would go too deep for the stack.
constexpr size_t kMostLayers = 10000;

const Json& layers_of(const Json& config, const std::string& where) {
  const auto layers = config.find("layers");
  if (layers == config.end() || !layers->is_array() || layers->empty())
    throw Error("{}: it has no layers; the file is damaged", where);
  if (layers->size() > kMostLayers)
    throw Error("{}: it has {} layers; Snug reads up to {}", where, layers->size(), kMostLayers);
  return *layers;
}

std::shared_ptr<Network> read_sequential(const Json& config, const std::string& where,
                                         CallCount& calls) {
  auto network = Network::sequential({}, text_at(config, "name"));
  std::vector<LayerPtr> models;
  for (const Json& item : layers_of(config, where)) {
    const Layer layer = read_layer(item, calls);
    calls.add(*layer.definition());
    network->add(layer);
    // Each further layer calls those before again, of which only models take long.
    for (const LayerPtr& model : models) calls.add(*model);
    if (dynamic_cast<const Network*>(layer.definition().get()) != nullptr)
      models.push_back(layer.definition());
    const std::string of_layer = fmt::format("layer \"{}\" ({})", layer->name, layer->class_name());
    expect_countable(*layer.definition(), {}, of_layer);
    if (!network->is_defined()) continue;
    for (const Type& type : network->output_types())
      expect_countable(*layer.definition(), {symbol_of(type)}, of_layer);
  }
  if (!network->is_defined())
    throw Error("{}: it has no input, so its weights have no shapes; build it before saving",
                where);
  return network;
}

// Keras 3: {"args": [...], "kwargs": {...}}; Keras 2: [["dense", 0, 0, {}], ...].
struct CallArguments {
  std::vector<const Json*> values;  // Tensors, and numbers of operations.
  bool in_list = false;             // The first argument is a list of tensors.
  const Json* key = nullptr;        // Of x[...].
};

void flatten(const Json& value, CallArguments& into, int depth = 0) {
  const bool old_tensor = value.is_array() && value.size() >= 3 && value[0].is_string();
  if (!value.is_array() || old_tensor) {
    if (!value.is_null()) into.values.push_back(&value);
    return;
  }
  if (depth > 2) throw Error("a call has lists within lists within lists; Snug has no such layer");
  if (depth == 1) into.in_list = true;
  for (const Json& item : value) flatten(item, into, depth + 1);
}

// Arguments that Snug's layers do not take are harmless where they say nothing. So does `training`,
// which Keras notes at each Dropout (false) and RandomFlip (true): its fit and predict put their
// own in the place of it in every call of a functional model, nested ones too.
void add_keywords(const Json& keywords, CallArguments& into) {
  for (const auto& [key, value] : keywords.items()) {
    if (value.is_null() || (key == "training" && value.is_boolean())) continue;
    if (key == "inputs" || key == "x" || key == "x1" || key == "x2")
      into.values.push_back(&value);
    else
      throw Error("a call gives {} = {}, which Snug's layers do not take", key, shown(value));
  }
}

CallArguments arguments_of(const Json& node, bool gets_item) {
  CallArguments arguments;
  if (gets_item && node.is_object() && node.contains("args") && node.at("args").is_array() &&
      node.at("args").size() == 2) {
    arguments.values.push_back(&node.at("args")[0]);
    arguments.key = &node.at("args")[1];
    return arguments;
  }
  if (node.is_array()) {
    flatten(node, arguments);
    arguments.in_list = true;
    return arguments;
  }
  if (!node.is_object() || !node.contains("args"))
    throw Error("a call is {}; the file is damaged", shown(node));
  flatten(node.at("args"), arguments);
  if (node.contains("kwargs")) add_keywords(node.at("kwargs"), arguments);
  return arguments;
}

// Puts a functional network together: each call as soon as all that it reads is there.
class FunctionalReader {
 public:
  FunctionalReader(const Json& config, const std::string& where, CallCount& calls)
      : config_(config), where_(where), calls_(calls) {
    for (const Json& layer : layers_of(config, where)) enter(layer);
    for (size_t i = 0; i < pending_.size(); ++i) call_with_followers(i);
    for (const Pending& pending : pending_) {
      if (pending.called) continue;
      throw Error("layer \"{}\": its inputs come from nowhere or from itself; the file is damaged",
                  pending.name);
    }
  }

  std::shared_ptr<Network> network() {
    const auto [inputs, input_ends] = ends("input_layers");
    const auto [outputs, output_ends] = ends("output_layers");
    auto network = Network::functional(inputs, outputs, text_at(config_, "name"));
    network->input_ends = input_ends;
    network->output_ends = output_ends;
    return network;
  }

 private:
  struct Pending {
    std::string name;
    const Json* layer;
    int call;
    CallArguments arguments;
    size_t first_missing = 0;  // Of the arguments: those before are there.
    bool called = false;
  };

  void enter(const Json& layer) {
    std::string name = text_at(layer, "name");
    if (name.empty()) name = text_at(layer.value("config", Json()), "name");
    if (name.empty() || !names_.insert(name).second)
      throw Error("{}: two layers are called \"{}\"; the file is damaged", where_, name);
    const Json nodes = layer.value("inbound_nodes", Json::array());
    if (nodes.empty()) {
      const Layer made = read_layer(layer, calls_);
      const auto* input = dynamic_cast<const InputLayer*>(made.definition().get());
      if (input == nullptr)
        throw Error("layer \"{}\" ({}): nothing calls it; the file is damaged", name,
                    made->class_name());
      table_.add(name, {symbol_of(input->type, made.definition())});
      return;
    }
    if (counts_from_one(layer, nodes)) table_.add_model(name);
    // A layer that Snug lacks is refused before its calls are looked at.
    if (text_at(layer, "module").starts_with("keras.layers"))
      layers_.emplace(name, read_layer(layer, calls_));
    const Json& inbound = layer.at("inbound_nodes");
    if (!inbound.is_array()) throw Error("layer \"{}\": its calls are no list", name);
    const size_t calls = pending_.size() + inbound.size();
    if (calls > kMostLayers)
      throw Error("{}: it has {} calls; Snug reads up to {}", where_, calls, kMostLayers);
    for (size_t i = 0; i < inbound.size(); ++i) {
      Pending pending{.name = name, .layer = &layer, .call = static_cast<int>(i), .arguments = {}};
      with_place(name, layer, [&] {
        pending.arguments = arguments_of(inbound[i], text_at(layer, "class_name") == "GetItem");
      });
      pending_.push_back(std::move(pending));
    }
  }

  template <typename Body>
  void with_place(const std::string& name, const Json& layer, const Body& body) const {
    try {
      body();
    } catch (const InternalError&) {
      throw;
    } catch (const Error& error) {
      const std::string message = error.what();
      if (message.starts_with("layer \"")) throw;
      throw Error("layer \"{}\" ({}): {}", name, text_at(layer, "class_name"), message);
    }
  }

  // A call, unless it has to wait, and then those that waited for it.
  void call_with_followers(size_t first) {
    std::vector<size_t> next = {first};
    while (!next.empty()) {
      const size_t i = next.back();
      Pending& pending = pending_[i];
      next.pop_back();
      if (const auto awaited = awaited_by(pending)) {
        waiting_[*awaited].push_back(i);
        continue;
      }
      with_place(pending.name, *pending.layer, [&] { call(pending); });
      pending.called = true;
      const auto followers = waiting_.extract({pending.name, static_cast<uint64_t>(pending.call)});
      if (followers)
        next.insert(next.end(), followers.mapped().rbegin(), followers.mapped().rend());
    }
  }

  // Calls of one layer are numbered in their order.
  std::optional<SymbolTable::Call> awaited_by(Pending& pending) const {
    if (table_.calls_of(pending.name) != pending.call)
      return SymbolTable::Call(pending.name, static_cast<uint64_t>(pending.call - 1));
    return table_.missing(pending.arguments.values, pending.first_missing);
  }

  void call(const Pending& pending) {
    const Json& json = *pending.layer;
    const bool operation = is_operation(json, pending.arguments.in_list);
    if (!operation && !layers_.contains(pending.name))
      layers_.emplace(pending.name, read_layer(json, calls_));
    const Layer layer = operation ? operation_of(pending) : layers_.at(pending.name);
    layer->name = pending.name;
    const Symbols in = table_.symbols(pending.arguments.values, /*numbers=*/operation);
    if (in.empty()) throw Error("it is called on nothing; the file is damaged");
    calls_.add(*layer.definition());
    const Symbols out = layer.call(in);
    expect_countable(*layer.definition(), out,
                     fmt::format("layer \"{}\" ({})", pending.name, layer->class_name()));
    table_.add(pending.name, out);
  }

  static Layer operation_of(const Pending& pending) {
    std::vector<ops::Index> key;
    if (pending.arguments.key != nullptr) key = read_key(*pending.arguments.key);
    return SymbolTable::operation(*pending.layer, pending.arguments.values, std::move(key));
  }

  // A nested functional model, whose first call is the one that made it; in Keras 2, whose calls
  // are lists, a Sequential too.
  static bool counts_from_one(const Json& layer, const Json& nodes) {
    const std::string word = text_at(layer, "class_name");
    const bool keras_2 = nodes.is_array() && nodes.front().is_array();
    return word == "Functional" || word == "Model" || (word == "Sequential" && keras_2);
  }

  // Keras's operators; Keras's own .h5 files do not say the module, but an operator's operands are
  // not in a list, and a merging layer's are.
  static bool is_operation(const Json& layer, bool in_list) {
    const std::string module = text_at(layer, "module"), word = text_at(layer, "class_name");
    if (module.starts_with("keras.src.ops") || module.starts_with("keras.ops")) return true;
    const bool merges = word == "Add" || word == "Subtract" || word == "Multiply";
    const bool only_operator = word == "TrueDivide" || word == "Divide" || word == "Negative";
    return module.empty() && (only_operator || (merges && !in_list));
  }

  // One end, a list of them, or several by name: by sorted key, as Keras flattens them.
  std::pair<Symbols, NetworkEnds> ends(const char* key) const {
    const Json json = config_.value(key, Json());
    if (is_end(json)) return std::pair(Symbols{end(json)}, NetworkEnds());
    Symbols symbols;
    NetworkEnds form{.is_list = json.is_array(), .keys = {}};
    if (json.is_structured()) {
      for (const auto& [name, item] : json.items()) {
        if (!is_end(item)) throw Error("{}: {} is {}", where_, key, shown(json));
        symbols.push_back(end(item));
        if (!form.is_list) form.keys.push_back(name);
      }
    }
    if (symbols.empty()) throw Error("{}: its {} are missing; the file is damaged", where_, key);
    return std::pair(symbols, form);
  }

  static bool is_end(const Json& json) {
    return json.is_array() && json.size() >= 3 && json[0].is_string();
  }

  // Ends count the calls of a nested model from 1 (keras.md 3.2).
  Symbol end(const Json& json) const { return table_.symbol(json, /*from_one=*/true); }

  const Json& config_;
  std::string where_;
  CallCount& calls_;
  std::set<std::string> names_;
  std::map<std::string, Layer> layers_;
  SymbolTable table_;
  std::vector<Pending> pending_;
  std::map<SymbolTable::Call, std::vector<size_t>> waiting_;  // By the call that must come first.
};

}  // namespace

namespace {

std::shared_ptr<Network> read_any(const Json& model, CallCount& calls) {
  const KerasObject object = keras_object(model, "the model");
  const std::string where = fmt::format("model ({})", object.class_name);
  if (object.config == nullptr || !object.config->is_object())
    throw Error("{}: it has no config; the file is damaged", where);
  const Json& config = *object.config;
  std::shared_ptr<Network> network;
  if (object.class_name == "Sequential") {
    network = read_sequential(config, where, calls);
  } else if (object.class_name == "Functional" || object.class_name == "Model") {
    network = FunctionalReader(config, where, calls).network();
  } else {
    throw Error(
        "the model is of the class {} ({}); Snug loads Sequential and functional models, not "
        "Python classes",
        object.class_name, text_at(model, "module"));
  }
  if (config.value("trainable", Json(true)) == false) network->trainable = false;
  return network;
}

}  // namespace

std::shared_ptr<Network> read_network(const Json& model) {
  CallCount calls;
  return read_network(model, calls);
}

std::shared_ptr<Network> read_network(const Json& model, CallCount& calls) {
  try {
    return read_any(model, calls);
  } catch (const Json::exception& error) {
    throw Error("the config of the model makes no sense ({}); the file is damaged", error.what());
  }
}

}  // namespace snug
