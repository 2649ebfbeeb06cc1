#include "snug/nn/network.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <regex>
#include <set>

#include "snug/base/error.h"
#include "snug/base/nearest_word.h"
#include "snug/nn/visit_settings.h"

namespace snug {

void InputLayer::settings(SettingVisitor& visitor) {
  std::vector<int64_t> row;
  for (int axis = 1; axis < type.shape.rank(); ++axis) row.push_back(type.shape[axis]);
  visitor.visit("shape", row);
  Shape shape{kRows};
  for (const int64_t extent : row) shape.push_back(extent);
  put_if_changed(type.shape, shape);
}

Input::Input(const Shape& row, const InputOptions& options) : Layer(nullptr) {
  Shape shape{kRows};
  for (const Extent extent : row.extents()) shape.push_back(extent);
  auto layer = std::make_shared<InputLayer>(Type{options.dtype, shape});
  layer->name = options.name;
  symbol_ = {
      std::make_shared<SymbolNode>(SymbolNode{.layer = layer, .in = {}, .out = {layer->type}}), 0};
  *static_cast<Layer*>(this) = Layer(std::move(layer));
}

std::shared_ptr<Network> Network::functional(const Symbols& inputs, const Symbols& outputs,
                                             std::string name) {
  auto network = std::make_shared<Network>();
  network->name = std::move(name);
  if (inputs.empty() || outputs.empty())
    throw Error("Model: it needs at least one input and one output");
  for (const Symbols* ends : {&inputs, &outputs}) {
    if (!std::ranges::all_of(*ends, [](const Symbol& symbol) { return bool(symbol); }))
      throw Error("Model: an {} is empty; give what Input or a layer gives",
                  ends == &inputs ? "input" : "output");
  }
  network->define(inputs, outputs);
  network->input_ends.is_list = inputs.size() > 1;
  network->output_ends.is_list = outputs.size() > 1;
  return network;
}

std::shared_ptr<Network> Network::sequential(const std::vector<Layer>& layers, std::string name) {
  auto network = std::make_shared<Network>();
  network->is_sequential_ = true;
  network->name = std::move(name);
  for (const Layer& layer : layers) network->append(layer);
  network->stack_if_known();
  return network;
}

void Network::add(const Layer& layer) {
  append(layer);
  stack_if_known();
}

void Network::append(const Layer& layer) {
  const LayerPtr& definition = layer.definition();
  if (dynamic_cast<const InputLayer*>(definition.get()) != nullptr) {
    if (stack_input_ || !stack_.empty())
      throw Error("Sequential: an Input can only be the first layer");
    stack_input_ = definition;
  } else {
    if (std::ranges::count(stack_, definition)) {
      throw Error("Sequential: {} is in it twice; use a functional Model to share a layer",
                  definition->class_name());
    }
    if (definition->merges()) {
      throw ShapeError(
          "{}: it merges several values, but in a list of layers it gets one; write models with "
          "branches in C++ (Model), or load one from a .keras file",
          definition->label());
    }
    stack_.push_back(definition);
  }
  layers_ = stack_;
}

void Network::stack_if_known() {
  if (stack_input_ && !stack_.empty()) stack(static_cast<const InputLayer&>(*stack_input_).type);
}

void Network::stack(const Type& input) {
  const Symbol first(
      std::make_shared<SymbolNode>(SymbolNode{.layer = stack_input_, .in = {}, .out = {input}}), 0);
  Symbol x = first;
  for (const LayerPtr& layer : stack_) x = Layer(layer)(x);
  define({first}, {x});
}

void Network::build(const Types& in) {
  if (is_defined()) return;
  if (!is_sequential_ || in.size() != 1) throw Error("{}: it has no layers to build", class_name());
  if (!stack_input_) stack_input_ = std::make_shared<InputLayer>(in[0]);
  stack(in[0]);
}

namespace {

// Walks from the outputs back to the inputs as Keras does (keras.md 3.3): operations in order of
// first visit, nodes in post-order.
class GraphWalk {
 public:
  explicit GraphWalk(const Symbols& inputs) {
    for (const Symbol& input : inputs) inputs_.insert(input.node().get());
  }

  void visit(const Symbol& symbol) {
    const SymbolNode* node = symbol.node().get();
    if (!seen_.insert(node).second) return;
    index.try_emplace(node->layer.get(), static_cast<int>(index.size()));
    if (!inputs_.contains(node)) {
      if (node->in.empty()) {
        throw Error(
            "Model: the output depends on the input \"{}\", which is not among the model's inputs",
            node->layer->name.empty() ? "(unnamed)" : node->layer->name);
      }
      for (const Symbol& in : node->in) visit(in);
    }
    post_order.push_back(symbol.node());
  }

  std::map<const LayerDefinition*, int> index;
  std::vector<std::shared_ptr<const SymbolNode>> post_order;

 private:
  std::set<const SymbolNode*> inputs_;
  std::set<const SymbolNode*> seen_;
};

}  // namespace

void Network::define(const Symbols& inputs, const Symbols& outputs) {
  GraphWalk walk(inputs);
  for (const Symbol& output : outputs) walk.visit(output);
  std::map<const SymbolNode*, int> call_of;
  calls_.clear();
  nodes_.clear();
  inputs_.clear();
  outputs_.clear();
  std::set<const SymbolNode*> input_nodes;
  const auto add_call = [&](const std::shared_ptr<const SymbolNode>& node) {
    LayerCall call{.layer = node->layer, .in = {}, .out = node->out};
    if (!input_nodes.contains(node.get())) {
      for (const Symbol& in : node->in)
        call.in.emplace_back(call_of.at(in.node().get()), in.output());
    }
    call_of[node.get()] = static_cast<int>(calls_.size());
    calls_.push_back(std::move(call));
    nodes_.push_back(node);
  };
  for (const Symbol& input : inputs) {
    if (!input || !input.node()->in.empty()) {
      throw Error("Model: an input must come from Input(...), not from a layer");
    }
    input_nodes.insert(input.node().get());
    inputs_.push_back(static_cast<int>(calls_.size()));
    add_call(input.node());
  }
  for (const auto& node : walk.post_order) {
    if (!call_of.contains(node.get())) add_call(node);
  }
  for (const Symbol& output : outputs)
    outputs_.emplace_back(call_of.at(output.node().get()), output.output());

  // Depths as Keras counts them: the longest way to an output.
  std::map<const SymbolNode*, int> depth;
  std::map<const LayerDefinition*, int> layer_depth;
  for (auto node = walk.post_order.rbegin(); node != walk.post_order.rend(); ++node) {
    int& own = depth[node->get()];
    int& of_layer = layer_depth[(*node)->layer.get()];
    own = of_layer = std::max(own, of_layer);
    if (input_nodes.contains(node->get())) continue;
    for (const Symbol& in : (*node)->in) {
      int& above = depth[in.node().get()];
      above = std::max(above, own + 1);
    }
  }
  if (!is_sequential_) {
    layers_.clear();
    for (const LayerCall& call : calls_) {
      if (!std::ranges::count(layers_, call.layer)) layers_.push_back(call.layer);
    }
    const auto key = [&](const LayerPtr& layer) {
      const auto found = walk.index.find(layer.get());
      return std::pair(-layer_depth[layer.get()], found == walk.index.end() ? -1 : found->second);
    };
    std::ranges::stable_sort(layers_, {}, key);
    layers_and_operations_ = layers_;
    std::erase_if(layers_, [](const LayerPtr& layer) { return layer->is_operation(); });
  }
}

// Whether one layer of the network reads that result of a call, once, and nobody else can.
bool Network::is_alone(const std::pair<int, int>& result) const {
  if (std::ranges::count(inputs_, result.first) > 0) return false;
  auto readers = std::ranges::count(outputs_, result);
  for (const LayerCall& call : calls_) readers += std::ranges::count(call.in, result);
  return readers == 1;
}

Values Network::call(Tracer& tracer, const Values& in) {
  if (in.size() != inputs_.size()) {
    throw ShapeError("{}: it has {} inputs, but was called on {}", name, inputs_.size(), in.size());
  }
  std::vector<Values> results(calls_.size());
  for (size_t i = 0; i < in.size(); ++i) results[inputs_[i]] = {in[i]};
  for (size_t i = 0; i < calls_.size(); ++i) {
    if (!results[i].empty()) continue;
    Values arguments;
    for (const auto& [call, output] : calls_[i].in) arguments.push_back(results[call][output]);
    const Tracer::AloneScope scope(tracer, calls_[i].in.size() == 1 && is_alone(calls_[i].in[0]));
    results[i] = call_layer(calls_[i].layer, tracer, arguments);
  }
  Values outputs;
  for (const auto& [call, output] : outputs_) outputs.push_back(results[call][output]);
  return outputs;
}

std::vector<Layer> Network::sublayers() const {
  std::vector<Layer> handles;
  for (const LayerPtr& layer : layers_) handles.emplace_back(layer);
  return handles;
}

Types Network::input_types() const {
  Types types;
  for (const int call : inputs_) types.push_back(calls_[call].out[0]);
  return types;
}

Types Network::output_types() const {
  Types types;
  for (const auto& [call, output] : outputs_) types.push_back(calls_[call].out[output]);
  return types;
}

std::vector<std::string> Network::output_names() const {
  std::vector<std::string> names;
  for (const auto& [call, output] : outputs_) names.push_back(calls_[call].layer->name);
  return names;
}

std::vector<std::string> Network::input_names() const {
  std::vector<std::string> names;
  for (const int call : inputs_) names.push_back(calls_[call].layer->name);
  return names;
}

void Network::settings(SettingVisitor&) {}

void Network::set_paths() {
  if (name.empty()) {
    name = snake_case(class_name());
    named_by_model = true;
  }
  set_paths_inside(*this, "");
}

namespace {

// Each once, however often it is in the list.
std::vector<LayerPtr> layers_inside(const LayerDefinition& layer) {
  std::vector<LayerPtr> inside;
  for (const Layer& sublayer : layer.sublayers()) {
    if (!std::ranges::count(inside, sublayer.definition())) inside.push_back(sublayer.definition());
  }
  return inside;
}

// The user's names stay. So does what another model has chosen, unless two have it here: encoder
// and decoder, each named "sequential" when it was made.
void name_layers(const LayerDefinition& owner, const std::vector<LayerPtr>& all) {
  std::set<std::string> taken;
  for (const LayerPtr& layer : layers_inside(owner)) {
    if (layer->name.empty() || layer->named_by_model) continue;
    if (!taken.insert(layer->name).second) {
      throw Error("the name \"{}\" is used twice in {}; layers of a model need different names",
                  layer->name, owner.label());
    }
  }
  for (const LayerPtr& layer : all) {
    if (layer->named_by_model && !taken.insert(layer->name).second) layer->name.clear();
  }
  std::map<std::string, int> counts;
  for (const LayerPtr& layer : all) {
    if (!layer->name.empty()) continue;
    const std::string base = snake_case(layer->class_name());
    do {
      const int count = counts[base]++;
      layer->name = count == 0 ? base : fmt::format("{}_{}", base, count);
    } while (!taken.insert(layer->name).second);
    layer->named_by_model = true;
  }
}

}  // namespace

std::vector<LayerPtr> Network::named_layers() const {
  std::vector<LayerPtr> all = layers_;
  for (const LayerCall& call : calls_) {
    if (!std::ranges::count(all, call.layer)) all.push_back(call.layer);
  }
  return all;
}

void Network::set_paths_inside(const LayerDefinition& owner, const std::string& prefix) {
  const auto* network = dynamic_cast<const Network*>(&owner);
  const std::vector<LayerPtr> all =
      network != nullptr ? network->named_layers() : layers_inside(owner);
  name_layers(owner, all);
  for (const LayerPtr& layer : all) {
    put_if_changed(layer->path, prefix + layer->name);
    for (const VariablePtr& variable : layer->own_variables()) {
      const std::string path = layer->path + "/" + variable->name();
      if (variable->path() != path) variable->set_path(path);
    }
    set_paths_inside(*layer, layer->path + "/");
  }
}

std::string snake_case(std::string_view class_name) {
  static const std::regex word("(.)([A-Z][a-z]+)"), border("([a-z])([A-Z])");
  std::string name = std::regex_replace(std::string(class_name), word, "$1_$2");
  name = std::regex_replace(name, border, "$1_$2");
  for (char& c : name) c = static_cast<char>(std::tolower(c));
  return name;
}

std::string nearest_class(std::string_view word, std::span<const std::string_view> class_names) {
  const std::string_view nearest = nearest_word(word, class_names);
  if (nearest.empty()) return "";
  const bool has_capitals =
      std::ranges::any_of(word, [](unsigned char c) { return std::isupper(c) != 0; });
  return has_capitals ? std::string(nearest) : snake_case(nearest);
}

}  // namespace snug
