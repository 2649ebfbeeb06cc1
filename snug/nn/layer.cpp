#include "snug/nn/layer.h"

#include <algorithm>
#include <cstring>

#include "snug/base/error.h"
#include "snug/nn/network.h"
#include "snug/ops/ops.h"
#include "snug/tensor/elements.h"

namespace snug {
namespace {

thread_local Tracer* traced = nullptr;

void collect(const LayerPtr& layer, bool trainable, bool root_trains, Variables& found) {
  for (const VariablePtr& variable : layer->own_variables()) {
    const bool is_trained = root_trains && layer->trainable && variable->trainable();
    if (is_trained == trainable && !std::ranges::count(found, variable)) found.push_back(variable);
  }
  for (const Layer& sublayer : layer->sublayers())
    collect(sublayer.definition(), trainable, root_trains, found);
}

void collect_all(const LayerPtr& layer, Variables& found) {
  for (const bool trainable : {true, false}) {
    for (const VariablePtr& variable : layer->own_variables()) {
      if (variable->trainable() == trainable && !std::ranges::count(found, variable))
        found.push_back(variable);
    }
  }
  for (const Layer& sublayer : layer->sublayers()) collect_all(sublayer.definition(), found);
}

std::string scope_name(const LayerDefinition& layer) {
  if (!layer.path.empty()) {
    const size_t slash = layer.path.rfind('/');
    return slash == std::string::npos ? layer.path : layer.path.substr(slash + 1);
  }
  return layer.name.empty() ? std::string(layer.class_name()) : layer.name;
}

}  // namespace

std::vector<Layer> LayerDefinition::sublayers() const { return {}; }

Trainable& Trainable::operator=(bool value) {
  value_ = value;
  for (const Layer& sublayer : layer_.sublayers()) sublayer->trainable = value;
  return *this;
}

void LayerDefinition::ensure_built(const Types& in) {
  if (built_) return;
  const std::vector<Layer> before = sublayers();
  build(in);
  built_ = true;
  if (trainable) return;
  // Layers that build made are frozen with it; of others the user may have set their own.
  for (const Layer& sublayer : sublayers()) {
    if (!std::ranges::count(before, sublayer.definition(), &Layer::definition))
      sublayer->trainable = false;
  }
}

std::string LayerDefinition::label() const {
  return name.empty() ? snake_case(class_name()) : name;
}

VariablePtr LayerDefinition::add_weight(VariableSpec spec) {
  variables_.push_back(std::make_shared<Variable>(std::move(spec)));
  return variables_.back();
}

const Type& Symbol::type() const {
  SNUG_CHECK(node_ != nullptr, "an empty symbol");
  return node_->out[output_];
}

// The types of the outputs come from calling the layer on a graph that is thrown away.
Symbols Layer::call(const Symbols& in) const {
  Graph graph;
  Tracer tracer(graph, /*training=*/false);
  Values values;
  for (const Symbol& symbol : in) {
    if (!symbol)
      throw Error("{}: input {} is empty; start from an Input", definition_->class_name(),
                  values.size());
    values.push_back(graph.input("x" + std::to_string(values.size()), symbol.type()));
  }
  auto node = std::make_shared<SymbolNode>(SymbolNode{.layer = definition_, .in = in, .out = {}});
  for (const Value& value : call_layer(definition_, tracer, values))
    node->out.push_back(value.type());
  Symbols out;
  for (size_t i = 0; i < node->out.size(); ++i) out.emplace_back(node, static_cast<int>(i));
  return out;
}

void Layer::expect_one(size_t given) const {
  if (given == 1) return;
  throw Error("{}: it gives {} values, and one was asked for; use call({{x}}), which gives all",
              definition_->label(), given);
}

Values Layer::call(const Values& in) const { return call_layer(definition_, current_tracer(), in); }

namespace {

// What the layer's ops say about shapes gets the layer's name in front.
Values build_and_call(const LayerPtr& layer, Tracer& tracer, const Values& in) {
  Types types;
  for (const Value& value : in) types.push_back(value.type());
  try {
    layer->ensure_built(types);
    return layer->call(tracer, in);
  } catch (const ShapeError& error) {
    const std::string start = layer->label() + ": ", message = error.what();
    if (message.starts_with(start) || !layer->sublayers().empty()) throw;
    throw ShapeError("{}{}", start, message);
  }
}

}  // namespace

Values call_layer(const LayerPtr& layer, Tracer& tracer, const Values& in) {
  const TracerScope traces(tracer);
  const Graph::Scope scope(tracer.graph(), scope_name(*layer));
  const Tracer::LayerScope layer_scope(tracer, layer->trainable);
  Values out = build_and_call(layer, tracer, in);
  if (layer->passes_mask() && !in.empty()) {
    for (const Value& value : out) {
      if (!tracer.mask(value)) tracer.set_mask(value, tracer.mask(in[0]));
    }
  }
  // A penalty counts once, however often the layer is called.
  for (const VariablePtr& variable : layer->own_variables()) {
    const RegularizerPtr& regularizer = variable->spec().regularizer;
    if (regularizer && tracer.trains() && tracer.first_penalty(*variable))
      tracer.add_loss(regularizer->penalty(tracer.value(variable)));
  }
  return out;
}

Variables Layer::trainable_weights() const {
  Variables found;
  collect(definition_, true, definition_->trainable, found);
  return found;
}

Variables Layer::non_trainable_weights() const {
  Variables found;
  collect(definition_, false, definition_->trainable, found);
  return found;
}

Variables Layer::weights() const {
  Variables found;
  collect_all(definition_, found);
  return found;
}

std::vector<std::vector<float>> Layer::get_weights() const {
  allocate(weights(), 0);
  std::vector<std::vector<float>> values;
  for (const VariablePtr& variable : weights()) {
    values.emplace_back();
    with_elements(variable->tensor(), [&](const auto elements) {
      for (const auto element : elements) values.back().push_back(static_cast<float>(element));
    });
  }
  return values;
}

void Layer::set_weights(const std::vector<std::vector<float>>& values) const {
  const Variables variables = weights();
  if (values.size() != variables.size()) {
    throw Error("set_weights: {} has {} weights, but {} were given", definition_->name,
                variables.size(), values.size());
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const auto expected = static_cast<size_t>(variables[i]->type().shape.size());
    if (values[i].size() != expected) {
      throw Error("set_weights: {} has the shape {} ({} numbers), but {} numbers were given",
                  variables[i]->path(), variables[i]->type().shape.text(), expected,
                  values[i].size());
    }
  }
  allocate(variables, 0);
  for (size_t i = 0; i < values.size(); ++i) {
    with_elements(variables[i]->tensor(), [&](const auto elements) {
      using Element = std::ranges::range_value_t<decltype(elements)>;
      for (size_t k = 0; k < elements.size(); ++k) elements[k] = static_cast<Element>(values[i][k]);
    });
  }
}

Tracer& current_tracer() {
  if (traced == nullptr)
    throw Error(
        "a layer was called on a value outside a trace; call it inside trace(...), or inside the "
        "call of a layer of your own");
  return *traced;
}

TracerScope::TracerScope(Tracer& tracer) : outer_(traced) { traced = &tracer; }
TracerScope::~TracerScope() { traced = outer_; }

}  // namespace snug
