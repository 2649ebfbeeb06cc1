// What is measured beside the loss. A metric's state is variables, so updates are commit nodes behind the guard.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "snug/base/settings.h"
#include "snug/nn/tracer.h"

namespace snug {

class MetricDefinition : public Configurable {
 public:
  // As LossDefinition::target_type.
  virtual Type target_type(const Type& predictions, const Shape& target_row) const = 0;

  // Adds the nodes that update the state by one batch. `weights` may be empty. Creates the state on the first call.
  virtual void update(Tracer& tracer, Value targets, Value predictions, Value weights) = 0;

  virtual double result() const = 0;  // From the state's memory.
  void reset();                       // The state as it was at first.
  const Variables& state() const { return state_; }

  // Whether smaller or larger is better, for callbacks that monitor it; none: they must be told.
  enum class Direction { none, down, up };
  virtual Direction direction() const { return Direction::none; }

  std::string name;  // As it stands in the logs.

 protected:
  VariablePtr add_state(std::string name, const Type& type, double initial = 0);

 private:
  Variables state_;
  std::vector<double> initial_;
};
using MetricPtr = std::shared_ptr<MetricDefinition>;

class Metric {
 public:
  Metric(const char* name);         // NOLINT: .metrics = {"accuracy"}
  Metric(const std::string& name);  // NOLINT
  explicit Metric(MetricPtr definition) : definition_(std::move(definition)) {}

  // Null for "accuracy", "acc": which accuracy it is depends on targets and predictions (keras.md 1.8); see resolve.
  const MetricPtr& definition() const { return definition_; }
  const std::string& name() const { return name_; }
  // A metric of its own for one output: a fresh copy, "accuracy" resolved.
  MetricPtr resolve(const Type& predictions, const Shape& target_row) const;

 private:
  MetricPtr definition_;
  std::string name_;
};

}  // namespace snug
