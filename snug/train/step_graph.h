// A compiled model's step as a graph: for training, evaluation or prediction.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "snug/nn/network.h"
#include "snug/train/compiled.h"

namespace snug {

// The types of what the data brings beside the inputs.
struct TargetTypes {
  std::vector<Shape>
      target_rows;  // Of each output: the shape of one row of targets as the user gives it.
  std::optional<Shape> weight_row;  // Of the weights of one row, where there are some.
};

struct StepGraph {
  // Shared by copies: a step may be planned several times.
  std::shared_ptr<Graph> graph;
  std::shared_ptr<Tracer> tracer;
  Values inputs, targets;
  std::vector<TargetRule> target_rules;  // Of each target; empty in steps that users trace.
  Value weights;  // float32 [rows, ...], as the losses; empty where there are none.
  Values predictions;
  Value loss;                       // The batch's total, a scalar; empty in prediction.
  std::vector<StepUpdate> updates;  // One for each apply_gradients.
  // What the guard looks at: the values that nodes beside the updates are about to commit
  // (averages, metrics), and the largest magnitude of each. Empty where nothing is updated.
  Values committed;
  Value largest_committed;
  bool guarded = true;  // Whether these are among the results.
  // Every variable of the graph with its memory's owner: weights, slots, metrics.
  std::vector<std::pair<VariablePtr, Value>> variables;

  // What the caller reads after a step.
  Values results() const;
};

// Calls a model that is part of no other: its layers' scopes, and so their random draws, do not
// depend on the model's name or on who calls it.
Values call_root(Network& network, Tracer& tracer, const Values& in);

// Opens a trace, calls `body` in it and gathers the variables and updates that it asked for. All
// steps are made here: fit's, evaluate's, predict's, and those that users trace.
StepGraph record_step(bool training, const std::function<void(StepGraph&)>& body);

// Forward, losses, gradients, update, metrics.
StepGraph training_step(Network& network, Compiled& compiled, const TargetTypes& targets);
// Forward, losses and metrics, with layers in inference mode.
StepGraph evaluation_step(Network& network, Compiled& compiled, const TargetTypes& targets);
// Forward only.
StepGraph prediction_step(Network& network);

}  // namespace snug
