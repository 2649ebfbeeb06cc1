// The inside of an optimizer: its settings, the state it wants, and the nodes that it adds to a
// step.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "snug/base/settings.h"
#include "snug/graph/graph.h"
#include "snug/ops/update.h"
#include "snug/optim/schedule.h"

namespace snug {

// A number, which float32 holds as Keras's variable does, or a schedule.
class LearningRate {
 public:
  LearningRate(double rate) : rate_(static_cast<float>(rate)) {}          // NOLINT
  LearningRate(SchedulePtr schedule) : schedule_(std::move(schedule)) {}  // NOLINT

  const SchedulePtr& schedule() const { return schedule_; }
  float at(int64_t iteration) const { return schedule_ ? schedule_->at(iteration) : rate_; }

 private:
  float rate_ = 0;
  SchedulePtr schedule_;
};

// What every optimizer can be told.
struct OptimizerSettings {
  std::string name;
  LearningRate learning_rate = 0.001;
  // w -= w * weight_decay * learning_rate before each update, for all weights but those with a name
  // (the last part of the path) in which a regular expression of exclude_from_weight_decay is
  // found.
  std::optional<double> weight_decay;
  std::vector<std::string> exclude_from_weight_decay;
  // At most one of these: the norm of each gradient, of all together, and each element.
  std::optional<double> clipnorm, global_clipnorm, clipvalue;
  // Averages of the weights, which are put in their place every ema_overwrite_frequency updates,
  // if that is given, and by finalize().
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<int64_t> ema_overwrite_frequency;
  // Keras's, refused.
  std::optional<double> loss_scale_factor;
  std::optional<int64_t> gradient_accumulation_steps;
};

// A piece of an optimizer's state. Its memory is the caller's, and every element starts as
// `initial`.
struct Slot {
  enum class Role {
    iterations,  // int64 []: the updates so far.
    average,     // Of a weight, with use_ema.
    rule,        // Of a weight: a moment, an accumulator, ...
    product,     // Nadam's float32 [].
    touched,  // Of a table: see ops::UpdateSegment. Not in Keras's files; all 1 after reading one.
  };
  std::string name;  // "dense_kernel_momentum", as in Keras.
  Type type;
  double initial = 0;
  Role role = Role::rule;
  int weight = -1;  // Which weight it belongs to; -1: to all.
};

// A weight as an optimizer sees it.
struct TrainedWeight {
  std::string name;  // Its path: "dense/kernel".
  Type type;
  bool row_gradient = false;
};

// What apply_gradients added.
struct OptimizerNodes {
  Value learning_rate;      // An input, float32 []: learning_rate_at(iterations) before each step.
  std::vector<Slot> slots;  // What slots() gives for these weights.
  Values variables;         // One for each slot.
  Value square_norms;       // float64 [gradients]: see ops::gradient_norms.
  Value reach;              // See ops::update.
};

// To be subclassed by each optimizer.
class OptimizerDefinition : public Configurable {
 public:
  explicit OptimizerDefinition(OptimizerSettings settings) : settings_(std::move(settings)) {}

  // In Keras's order and by its names. A schedule is visited as an object where there is one, and
  // else the rate as a number: a reader gives the schedule to set_learning_rate first.
  void settings(SettingVisitor& visitor) final;
  const OptimizerSettings& common() const { return settings_; }

  // The rate of the update that has `iteration` updates before it.
  float learning_rate_at(int64_t iteration) const { return settings_.learning_rate.at(iteration); }
  // Throws Error where a schedule would be replaced by a number.
  void set_learning_rate(const LearningRate& rate);

  // Throws Error when the settings make no sense.
  void check() const;

  // The state for these weights, in the order of Keras's files but for the learning rate, which
  // these have as a float32 [] behind `iteration` unless there is a schedule.
  std::vector<Slot> slots(const std::vector<TrainedWeight>& weights) const;

  // Adds the nodes that update the weights (float32 variables) by their gradients: norms, clipping,
  // the update, averages, the count. A weight with an empty gradient is left alone, with a warning.
  OptimizerNodes apply_gradients(const Values& gradients, const Values& weights) const;

  // Puts the averages in the place of the weights, as Keras does at the end of fit. `averages` are
  // the slots of that role, in their order.
  static void finalize(std::span<const Tensor> averages, std::span<const Tensor> weights);

 protected:
  // Slots of one `run` number stand side by side for each weight in files; runs follow each other.
  struct SlotKind {
    std::string_view name;
    int run = 0;
    double initial = 0;
  };
  virtual ops::UpdateRule rule() const = 0;
  virtual std::vector<SlotKind> slot_kinds() const = 0;  // In the rule's order.
  virtual void rule_settings(SettingVisitor& visitor) = 0;
  virtual void check_rule() const {}

  OptimizerSettings settings_;

 private:
  bool decays(std::string_view weight) const;
  OptimizerNodes declare(const Values& gradients, const Values& weights) const;
  Value add_update(const std::vector<ops::UpdateSegment>& segments, OptimizerNodes& nodes) const;
};
using OptimizerPtr = std::shared_ptr<OptimizerDefinition>;

}  // namespace snug
