#include "snug/train/step_graph.h"

#include "snug/autodiff/gradients.h"
#include "snug/base/error.h"
#include "snug/ops/ops.h"

namespace snug {
namespace {

StepGraph begin_step(Network& network, bool training) {
  StepGraph step;
  step.graph = std::make_unique<Graph>();
  step.tracer = std::make_unique<Tracer>(*step.graph, training);
  const Types types = network.input_types();
  const std::vector<std::string> names = network.input_names();
  for (size_t i = 0; i < types.size(); ++i)
    step.inputs.push_back(step.graph->input(names[i], types[i]));
  step.predictions = network.call(*step.tracer, step.inputs);
  return step;
}

void add_targets(StepGraph& step, const Network& network, const Compiled& compiled,
                 const TargetTypes& targets) {
  const std::vector<std::string> names = network.output_names();
  for (size_t i = 0; i < step.predictions.size(); ++i) {
    const Type type =
        compiled.loss(i)->target_type(step.predictions[i].type(), targets.target_rows[i]);
    step.targets.push_back(step.graph->input(names[i] + " target", type));
  }
  if (targets.weighted) step.weights = step.graph->input("weight", {DType::float32, {kRows}});
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
    if (!phase.output_losses.empty()) phase.output_losses[i]->update(tracer, {}, loss, {});
    const auto weight = static_cast<float>(compiled.loss_weight(i));
    const Value term = weight == 1 ? loss : ops::multiply_scalar(loss, weight);
    step.loss = step.loss ? ops::add(step.loss, term) : term;
  }
  for (const Value& penalty : tracer.losses()) step.loss = ops::add(step.loss, penalty);
  phase.loss->update(tracer, {}, step.loss, {});
  for (size_t i = 0; i < step.predictions.size(); ++i) {
    const auto measure = [&](const std::vector<MetricPtr>& metrics, Value weights) {
      for (const MetricPtr& metric : metrics) {
        const Value target =
            target_for(*metric, step.targets[i], step.predictions[i], targets.target_rows[i]);
        metric->update(tracer, target, step.predictions[i], weights);
      }
    };
    measure(phase.outputs[i].plain, {});
    measure(phase.outputs[i].weighted, step.weights);
  }
}

void add_update(StepGraph& step, Network& network, Compiled& compiled) {
  const Graph::Scope scope(*step.graph, "optimizer");
  Values weights;
  for (const VariablePtr& variable : Layer(LayerPtr(LayerPtr(), &network)).trainable_weights()) {
    weights.push_back(step.tracer->value(variable));
  }
  if (weights.empty())
    throw Error(
        "fit: the model has no trainable weights; set `trainable` on a layer that has some");
  const Values gradients = snug::gradients(step.loss, weights);
  step.optimizer = compiled.optimizer()->apply_gradients(gradients, weights);
  const Variables& slots = compiled.slots(step.optimizer);
  for (size_t i = 0; i < slots.size(); ++i)
    step.variables.emplace_back(slots[i], step.optimizer.variables[i]);
}

void end_step(StepGraph& step) {
  step.variables.insert(step.variables.begin(), step.tracer->variables().begin(),
                        step.tracer->variables().end());
}

}  // namespace

Values StepGraph::results() const {
  Values all = predictions;
  if (loss) all = {loss};
  return all;
}

StepGraph training_step(Network& network, Compiled& compiled, const TargetTypes& targets) {
  StepGraph step = begin_step(network, /*training=*/true);
  add_targets(step, network, compiled, targets);
  add_losses(step, compiled, targets, /*training=*/true);
  add_update(step, network, compiled);
  end_step(step);
  return step;
}

StepGraph evaluation_step(Network& network, Compiled& compiled, const TargetTypes& targets) {
  StepGraph step = begin_step(network, /*training=*/false);
  add_targets(step, network, compiled, targets);
  add_losses(step, compiled, targets, /*training=*/false);
  end_step(step);
  return step;
}

StepGraph prediction_step(Network& network) {
  StepGraph step = begin_step(network, /*training=*/false);
  end_step(step);
  return step;
}

}  // namespace snug
