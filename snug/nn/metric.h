// What is measured beside the loss. A metric's state is variables, so updates are commit nodes
// behind the guard.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "snug/base/settings.h"
#include "snug/nn/tracer.h"

namespace snug {

class MetricDefinition;
using MetricPtr = std::shared_ptr<MetricDefinition>;

class MetricDefinition : public Configurable {
 public:
  MetricDefinition() = default;
  // The settings; the copy has no state yet.
  MetricDefinition(const MetricDefinition& other) : name(other.name), dtype_(other.dtype_) {}
  MetricDefinition& operator=(const MetricDefinition&) = delete;

  // "name" and "dtype"; a metric with more calls it first.
  void settings(SettingVisitor& visitor) override;

  // As LossDefinition::target_type.
  virtual Type target_type(const Type& predictions, const Shape& target_row) const = 0;

  // Adds the nodes that update the state by one batch. `weights` ([rows], or of the shape of what
  // is weighed) may be empty. Creates the state on the first call.
  virtual void update(Tracer& tracer, Value targets, Value predictions, Value weights) = 0;

  // From the state's memory; 0 before anything was measured. A metric with several results (one
  // for each threshold or class) gives their mean.
  virtual double result() const;
  virtual std::vector<double> results() const { return {result()}; }
  void reset();  // The state as it was at first.
  const Variables& state() const { return state_; }

  // A metric with the same settings and no state: return std::make_shared<Mine>(*this). The
  // default throws Error that says so.
  virtual MetricPtr fresh() const;

  // Whether smaller or larger is better, for callbacks that monitor it; none: they must be told.
  enum class Direction { none, down, up };
  virtual Direction direction() const { return Direction::none; }

  std::string name;  // As it stands in the logs.

 protected:
  VariablePtr add_state(std::string name, const Type& type, double initial = 0);

  // For a state of sums in one float64 variable, which the first call creates; sums of a batch may
  // be float32.
  void add_to_state(Tracer& tracer, Value sums);
  std::vector<double> sums() const;  // Empty before anything was measured.

 private:
  std::string dtype_ = "float32";  // Keras's; sums are float64 whatever it says.
  Variables state_;
  std::vector<double> initial_;
};

class Metric {
 public:
  // By Keras's words, class names or snake case; the name in the logs is as given. Throws Error
  // that names the nearest right word.
  Metric(const char* name);         // NOLINT: .metrics = {"accuracy"}
  Metric(const std::string& name);  // NOLINT
  // An empty name leaves the definition's own.
  explicit Metric(MetricPtr definition, std::string_view name = {});

  // Null for "accuracy", "acc": which accuracy it is depends on targets and predictions
  // (keras.md 1.8); see resolve.
  const MetricPtr& definition() const { return definition_; }
  MetricDefinition* operator->() const { return definition_.get(); }
  const std::string& name() const { return name_; }
  bool is_word() const { return is_word_; }  // Made from a word, as Keras's files keep it.
  // A metric of its own for one output: a fresh copy, "accuracy" resolved.
  MetricPtr resolve(const Type& predictions, const Shape& target_row) const;

 private:
  MetricPtr definition_;
  std::string name_;
  bool is_word_ = false;
};

}  // namespace snug
