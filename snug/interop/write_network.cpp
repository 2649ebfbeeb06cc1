#include <map>

#include "snug/base/error.h"
#include "snug/interop/config_writer.h"
#include "snug/interop/item_key.h"
#include "snug/interop/network_config.h"
#include "snug/nn/operation.h"

namespace snug {
namespace {

OrderedJson float32_policy() {
  return {{"module", "keras"},
          {"class_name", "DTypePolicy"},
          {"config", {{"name", "float32"}}},
          {"registered_name", nullptr}};
}

OrderedJson write_input(const InputLayer& input) {
  return {{"module", "keras.layers"},
          {"class_name", "InputLayer"},
          {"config",
           {{"batch_shape", shape_json(input.type.shape)},
            {"dtype", name_of(input.type.dtype)},
            {"sparse", false},
            {"name", input.name}}},
          {"registered_name", nullptr}};
}

OrderedJson write_operation(Operation& operation) {
  OrderedJson config = {{"name", operation.name}};
  config.update(serialized(operation.module(), operation)["config"]);
  return {{"module", operation.module()},
          {"class_name", operation.class_name()},
          {"config", std::move(config)},
          {"registered_name", operation.class_name()}};
}

OrderedJson shapes_json(const Types& types) {
  if (types.size() == 1) return shape_json(types[0].shape);
  OrderedJson shapes = OrderedJson::array();
  for (const Type& type : types) shapes.push_back(shape_json(type.shape));
  return shapes;
}

// One layer; of a nested network its frame.
OrderedJson layer_json(LayerDefinition& layer) {
  if (auto* network = dynamic_cast<Network*>(&layer)) return write_frame(*network);
  if (const auto* input = dynamic_cast<const InputLayer*>(&layer)) return write_input(*input);
  if (auto* operation = dynamic_cast<Operation*>(&layer)) return write_operation(*operation);
  OrderedJson json = serialized(module_of(Family::layer), layer);
  OrderedJson config = {
      {"name", layer.name}, {"trainable", bool(layer.trainable)}, {"dtype", float32_policy()}};
  config.update(json["config"]);
  // Keras writes it for Dense only where it is set, and older versions know it only there.
  if (layer.class_name() == "Dense" && config["activity_regularizer"].is_null())
    config.erase("activity_regularizer");
  // It does not take the argument that all other layers take.
  if (layer.class_name().starts_with("SpatialDropout")) config.erase("trainable");
  json["config"] = std::move(config);
  return json;
}

// Which call of its layer each call of the network is.
struct CallNumbers {
  explicit CallNumbers(const Network& network) {
    std::map<const LayerDefinition*, int> counts;
    for (const LayerCall& call : network.calls()) numbers.push_back(counts[call.layer.get()]++);
  }
  std::vector<int> numbers;
};

class FunctionalWriter {
 public:
  explicit FunctionalWriter(Network& network) : network_(network), numbers_(network) {}

  void visit_layers(const VisitLayer& visit) const {
    for (const LayerPtr& layer : network_.layers_and_operations()) {
      OrderedJson json = layer_json(*layer);
      if (!layer->own_variables().empty())
        json["build_config"] = {{"input_shape", shapes_json(first_input_types(*layer))}};
      json["name"] = layer->name;
      json["inbound_nodes"] = inbound_nodes(*layer);
      visit(std::move(json), dynamic_cast<Network*>(layer.get()));
    }
  }

  OrderedJson config() const {
    OrderedJson inputs = OrderedJson::array(), outputs = OrderedJson::array();
    for (const int call : network_.input_calls()) inputs.push_back(end(call, 0));
    for (const auto& [call, output] : network_.output_calls()) outputs.push_back(end(call, output));
    return {{"name", network_.name},
            {"trainable", bool(network_.trainable)},
            {"layers", OrderedJson::array()},
            {"input_layers", ends(inputs, network_.input_ends)},
            {"output_layers", ends(outputs, network_.output_ends)}};
  }

 private:
  const LayerCall& call_at(int index) const { return network_.calls()[index]; }

  Types first_input_types(const LayerDefinition& layer) const {
    Types types;
    for (const LayerCall& call : network_.calls()) {
      if (call.layer.get() != &layer) continue;
      for (const auto& [from, output] : call.in) types.push_back(call_at(from).out[output]);
      break;
    }
    return types;
  }

  OrderedJson inbound_nodes(const LayerDefinition& layer) const {
    OrderedJson nodes = OrderedJson::array();
    for (const LayerCall& call : network_.calls()) {
      if (call.layer.get() != &layer || call.in.empty()) continue;
      OrderedJson tensors = OrderedJson::array();
      for (const auto& [from, output] : call.in) tensors.push_back(tensor(from, output));
      nodes.push_back(
          {{"args", arguments(layer, std::move(tensors))}, {"kwargs", OrderedJson::object()}});
    }
    return nodes;
  }

  // An operator has its operands side by side, a layer one value or one list; one that merges has
  // a list, be it of one.
  static OrderedJson arguments(const LayerDefinition& layer, OrderedJson tensors) {
    if (const auto* operation = dynamic_cast<const Operation*>(&layer))
      return operands(*operation, std::move(tensors));
    if (tensors.size() == 1 && !layer.merges()) return tensors;
    return OrderedJson::array({std::move(tensors)});
  }

  static OrderedJson operands(const Operation& operation, OrderedJson tensors) {
    const OperationArguments& arguments = operation.arguments();
    if (arguments.number)
      tensors.insert(arguments.number_first ? tensors.begin() : tensors.end(),
                     OrderedJson(*arguments.number));
    if (!arguments.key.empty()) tensors.push_back(write_key(arguments.key));
    return operation.takes_list() ? OrderedJson::array({std::move(tensors)}) : tensors;
  }

  OrderedJson tensor(int call, int output) const {
    const Type& type = call_at(call).out[output];
    return {{"class_name", "__keras_tensor__"},
            {"config",
             {{"shape", shape_json(type.shape)},
              {"dtype", name_of(type.dtype)},
              {"keras_history", {call_at(call).layer->name, numbers_.numbers[call], output}}}}};
  }

  // Ends count the calls of a nested functional model from 1 (keras.md 3.2).
  OrderedJson end(int call, int output) const {
    const auto* nested = dynamic_cast<const Network*>(call_at(call).layer.get());
    const int from = nested != nullptr && !nested->is_sequential() ? 1 : 0;
    return {call_at(call).layer->name, numbers_.numbers[call] + from, output};
  }

  static OrderedJson ends(const OrderedJson& list, const NetworkEnds& form) {
    if (form.is_list) return list;
    if (form.keys.empty()) return list[0];
    OrderedJson map = OrderedJson::object();
    for (size_t i = 0; i < list.size(); ++i) map[form.keys[i]] = list[i];
    return map;
  }

  Network& network_;
  CallNumbers numbers_;
};

void visit_sequential(const Network& network, const VisitLayer& visit) {
  for (const LayerCall& call : network.calls()) {
    OrderedJson json = layer_json(*call.layer);
    if (!call.layer->own_variables().empty()) {
      const auto& [from, output] = call.in.at(0);
      json["build_config"] = {{"input_shape", shape_json(network.calls()[from].out[output].shape)}};
    }
    visit(std::move(json), dynamic_cast<Network*>(call.layer.get()));
  }
}

OrderedJson sequential_frame(const Network& network) {
  const OrderedJson shape = shapes_json(network.input_types());
  return {{"module", "keras"},
          {"class_name", "Sequential"},
          {"config",
           {{"name", network.name},
            {"trainable", bool(network.trainable)},
            {"dtype", float32_policy()},
            {"layers", OrderedJson::array()},
            {"build_input_shape", shape}}},
          {"registered_name", nullptr},
          {"build_config", {{"input_shape", shape}}}};
}

// A frame with its layers, those of nested networks too.
OrderedJson filled(OrderedJson frame, Network& network) {
  OrderedJson& layers = layers_of(frame);
  visit_layers(network, [&](OrderedJson layer, Network* nested) {
    layers.push_back(nested != nullptr ? filled(std::move(layer), *nested) : std::move(layer));
  });
  return frame;
}

}  // namespace

OrderedJson shape_json(const Shape& shape) {
  OrderedJson json = OrderedJson::array();
  for (const Extent extent : shape.extents()) {
    if (extent.times_rows)
      json.push_back(nullptr);
    else
      json.push_back(extent.count);
  }
  return json;
}

OrderedJson write_frame(Network& network) {
  SNUG_CHECK(network.is_defined(), "a network without shapes");
  if (network.is_sequential()) return sequential_frame(network);
  return {{"module", "keras.src.models.functional"},
          {"class_name", "Functional"},
          {"config", FunctionalWriter(network).config()},
          {"registered_name", "Functional"},
          {"build_config", {{"input_shape", nullptr}}}};
}

void visit_layers(Network& network, const VisitLayer& visit) {
  if (network.is_sequential()) return visit_sequential(network, visit);
  FunctionalWriter(network).visit_layers(visit);
}

OrderedJson& layers_of(OrderedJson& frame) { return frame["config"]["layers"]; }

OrderedJson write_network(Network& network) { return filled(write_frame(network), network); }

}  // namespace snug
