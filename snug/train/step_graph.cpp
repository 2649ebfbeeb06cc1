#include "snug/train/step_graph.h"

#include <algorithm>

#include "snug/autodiff/gradients.h"
#include "snug/base/error.h"
#include "snug/ops/ops.h"
#include "snug/ops/update_layout.h"
#include "snug/train/gradient_tape.h"

namespace snug {
namespace {

void add_forward(StepGraph& step, Network& network) {
  const Types types = network.input_types();
  const std::vector<std::string> names = network.input_names();
  for (size_t i = 0; i < types.size(); ++i)
    step.inputs.push_back(step.graph->input(names[i], types[i]));
  step.predictions = call_root(network, *step.tracer, step.inputs);
}

void add_targets(StepGraph& step, const Network& network, const Compiled& compiled,
                 const TargetTypes& targets) {
  const std::vector<std::string> names = network.output_names();
  for (size_t i = 0; i < step.predictions.size(); ++i) {
    const Type type =
        compiled.loss(i)->target_type(step.predictions[i].type(), targets.target_rows[i]);
    step.targets.push_back(step.graph->input(names[i] + " target", type));
    step.target_rules.push_back(compiled.loss(i)->target_rule(type));
  }
  if (!targets.weight_row) return;
  Shape shape{kRows};
  for (const Extent extent : targets.weight_row->extents()) shape.push_back(extent);
  step.weights = step.graph->input("weight", {DType::float32, shape});
}

// What metrics weigh by: [rows] says of every step what [rows, 1] says to a loss.
Value metric_weights(const StepGraph& step) {
  if (!step.weights) return {};
  Shape shape = step.weights.shape();
  while (shape.rank() > 1 && shape.extent(-1) == Extent(1)) shape = shape.without(-1);
  return shape == step.weights.shape() ? step.weights : ops::reshape(step.weights, shape);
}

// Targets in the type that a metric wants; labels and one-hot rows are not the same thing.
Value target_for(const MetricDefinition& metric, Value target, Value prediction, const Shape& row) {
  const Type wanted = metric.target_type(prediction.type(), row);
  Value result = target;
  if (result.dtype() != wanted.dtype) result = ops::cast(result, wanted.dtype);
  return result.shape() == wanted.shape ? result : ops::reshape(result, wanted.shape);
}

// The total loss and the measures of a phase.
void add_losses(StepGraph& step, Compiled& compiled, const TargetTypes& targets, bool training) {
  Tracer& tracer = *step.tracer;
  Compiled::Phase& phase = compiled.phase(training, targets.target_rows);
  for (size_t i = 0; i < step.predictions.size(); ++i) {
    const Value loss =
        compiled.loss(i)->reduced(tracer, step.targets[i], step.predictions[i], step.weights);
    if (!phase.output_losses.empty()) {
      phase.output_losses[i]->update(tracer, {}, loss, tracer.rows());
    }
    const auto weight = static_cast<float>(compiled.loss_weight(i));
    const Value term = weight == 1 ? loss : ops::multiply_scalar(loss, weight);
    step.loss = step.loss ? ops::add(step.loss, term) : term;
  }
  for (const Value& penalty : tracer.losses()) step.loss = ops::add(step.loss, penalty);
  // Weighted by rows, so that a last, smaller batch counts less, as in Keras.
  phase.loss->update(tracer, {}, step.loss, tracer.rows());
  const bool weighs = std::ranges::any_of(
      phase.outputs, [](const OutputMetrics& metrics) { return !metrics.weighted.empty(); });
  const Value weights = weighs ? metric_weights(step) : Value();
  for (size_t i = 0; i < step.predictions.size(); ++i) {
    const auto measure = [&](const std::vector<MetricPtr>& metrics, Value by) {
      for (const MetricPtr& metric : metrics) {
        const Value target =
            target_for(*metric, step.targets[i], step.predictions[i], targets.target_rows[i]);
        metric->update(tracer, target, step.predictions[i], by);
      }
    };
    measure(phase.outputs[i].plain, {});
    measure(phase.outputs[i].weighted, weights);
  }
}

// The node that reads it first.
std::string reader_of(const Graph& graph, Value value) {
  for (const Node* node : graph.nodes()) {
    if (std::ranges::count(node->in(), value.id()) > 0) return node->label();
  }
  return value.name();
}

// What a layer uses of another that it does not list would not be trained, nor saved.
void expect_weights_of(const Layer& model, const StepGraph& step) {
  const Variables weights = model.weights();
  for (const auto& [variable, value] : step.tracer->variables()) {
    if (!variable->trainable() || std::ranges::count(weights, variable) > 0) continue;
    throw Error(
        "fit: {} uses the weight {}, which is none of the model's, so it would be neither trained "
        "nor saved; list the layer that has it in sublayers() of the layer that calls it, or make "
        "a weight with .trainable = false",
        reader_of(*step.graph, value), variable->name());
  }
}

void add_update(const StepGraph& step, Network& network, const Compiled& compiled) {
  const Layer model(LayerPtr(LayerPtr(), &network));
  expect_weights_of(model, step);
  const Variables variables = model.trainable_weights();
  if (variables.empty())
    throw Error(
        "fit: the model has no trainable weights; set `trainable` on a layer that has some");
  const OptimizerState& state = compiled.optimizer_state();
  if (!state.variables().empty() && state.variables() != variables)
    throw Error("fit: which weights are trained was changed after compile; call compile again");
  state.apply_gradients(gradients(step.loss, traced(variables)), variables);
}

// All floats that commits other than the updates read from what is computed.
void add_guard(StepGraph& step) {
  const Graph& graph = *step.graph;
  for (const Node* node : graph.nodes()) {
    if (!node->commits() || ops::update_layout(node->op()) != nullptr) continue;
    for (size_t i = 0; i < node->in().size(); ++i) {
      const Value value = node->input(static_cast<int>(i));
      const Node* producer = value.producer();
      const bool is_float = value.dtype() == DType::float32 || value.dtype() == DType::float64;
      if (producer == nullptr || producer->commits() || !is_float) continue;
      if (!std::ranges::count(step.committed, value)) step.committed.push_back(value);
    }
  }
  const Graph::Scope scope(*step.graph, "guard");
  if (!step.committed.empty()) step.largest_committed = ops::largest_elements(step.committed);
}

}  // namespace

Values StepGraph::results() const {
  Values all = predictions;
  if (loss) all = {loss};
  if (!guarded) return all;
  for (const StepUpdate& update : updates) {
    for (const Value& value :
         {update.nodes.square_norms, ops::largest_magnitudes(update.nodes.square_norms),
          update.nodes.reach})
      all.push_back(value);
  }
  if (largest_committed) all.push_back(largest_committed);
  return all;
}

Values call_root(Network& network, Tracer& tracer, const Values& in) {
  Types types;
  for (const Value& value : in) types.push_back(value.type());
  network.ensure_built(types);
  return network.call(tracer, in);
}

StepGraph record_step(bool training, const std::function<void(StepGraph&)>& body) {
  StepGraph step;
  step.graph = std::make_shared<Graph>();
  step.tracer = std::make_shared<Tracer>(*step.graph, training);
  const TracerScope traces(*step.tracer);
  const UpdateScope collects(step.updates);
  body(step);
  if (!step.updates.empty()) add_guard(step);
  step.variables = step.tracer->variables();
  for (const StepUpdate& update : step.updates) {
    for (size_t i = 0; i < update.nodes.variables.size(); ++i)
      step.variables.emplace_back(update.state.slots()[i], update.nodes.variables[i]);
  }
  return step;
}

StepGraph training_step(Network& network, Compiled& compiled, const TargetTypes& targets) {
  return record_step(/*training=*/true, [&](StepGraph& step) {
    add_forward(step, network);
    add_targets(step, network, compiled, targets);
    add_losses(step, compiled, targets, /*training=*/true);
    add_update(step, network, compiled);
  });
}

StepGraph evaluation_step(Network& network, Compiled& compiled, const TargetTypes& targets) {
  return record_step(/*training=*/false, [&](StepGraph& step) {
    add_forward(step, network);
    add_targets(step, network, compiled, targets);
    add_losses(step, compiled, targets, /*training=*/false);
  });
}

StepGraph prediction_step(Network& network) {
  return record_step(/*training=*/false, [&](StepGraph& step) { add_forward(step, network); });
}

}  // namespace snug
