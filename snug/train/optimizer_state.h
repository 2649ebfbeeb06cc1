// An optimizer with the state that it owns: what outlives a step.
#pragma once

#include <memory>
#include <vector>

#include "snug/nn/variable.h"
#include "snug/optim/optimizer.h"

namespace snug {

// A handle: a copy is the same state. Give the same one to every step that goes on where another
// left off.
class OptimizerState {
 public:
  explicit OptimizerState(Optimizer optimizer);

  const Optimizer& optimizer() const;
  // The updates so far.
  int64_t iterations() const;
  // Of the next update.
  float learning_rate() const;
  void set_learning_rate(double rate);  // Throws Error for a schedule.

  // Inside a trace: adds the update of `variables`, whose values change when the step ends. The
  // first call makes the slots; every other one must be for the same variables. Throws Error
  // outside a trace, and when one trace asks twice.
  void apply_gradients(const Values& gradients, const Variables& variables) const;
  const Variables& variables() const;  // That it updates; empty before the first call.
  // In Keras's order, empty before the first apply_gradients.
  const Variables& slots() const;
  // What each slot is for, in the same order.
  const std::vector<Slot>& roles() const;
  // The slots for these variables as a file has them, before the first apply_gradients adds what
  // files do not have.
  void prepare(const Variables& variables) const;

  // Puts the averages of use_ema in the place of the weights, as Keras does at the end of fit.
  void finalize() const;

  friend bool operator==(const OptimizerState&, const OptimizerState&) = default;

 private:
  void add_untold(const std::vector<Slot>& wanted) const;

  struct Inside;
  std::shared_ptr<Inside> inside_;
};

// One apply_gradients of a trace.
struct StepUpdate {
  OptimizerState state;
  OptimizerNodes nodes;
};

// Collects the updates that this thread's traces add while it lives.
class UpdateScope {
 public:
  explicit UpdateScope(std::vector<StepUpdate>& updates);
  ~UpdateScope();
  UpdateScope(const UpdateScope&) = delete;
  UpdateScope& operator=(const UpdateScope&) = delete;

 private:
  std::vector<StepUpdate>* outer_;
};

}  // namespace snug
