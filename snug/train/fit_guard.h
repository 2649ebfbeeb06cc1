// The guard of a fit: runs each step, and does what the policy says about the bad ones.
#pragma once

#include <limits>
#include <memory>
#include <optional>

#include "snug/train/dead_units.h"
#include "snug/train/divergence.h"
#include "snug/train/stager.h"
#include "snug/train/step_guard.h"
#include "snug/train/trivial_loss.h"
#include "snug/train/variable_copy.h"

namespace snug {

class FitGuard {
 public:
  // What it may keep beside the plan: the copy that `rollback` goes back to.
  static int64_t held_bytes(const StepGraph& step, const GuardOptions& options);

  // Once the runner is bound.
  FitGuard(const Compiled& compiled, Runner& runner, const GuardOptions& options);

  // Others may have changed the variables: before the first step, and behind callbacks.
  void forget_variables() { guard_.forget_variables(); }
  // Before the first step of an epoch, or before the rest of a resumed one.
  void begin_epoch(bool resumed);
  // Whether none of the epoch's batches was committed.
  bool has_skipped_all() const {
    return options_.policy == GuardOptions::Policy::skip && divergence_.steps() == 0;
  }
  // Throws NumericsError where the run has diverged.
  void end_epoch(int epoch);
  void end_run() const;

  enum class Outcome { committed, skipped, rolled_back };
  // One step on the batch that was staged last. `step` counts from 0 in its epoch. After a rollback
  // the stager stands where it stood at rollback_step(), if it can be wound. Throws NumericsError
  // by policy.
  Outcome run(const Stager::Batch& batch, Stager& stager, int epoch, int64_t step);
  int64_t rollback_step() const { return copy_step_; }
  // Of the step that ran last; absent where nothing is looked at.
  std::optional<double> gradient_norm() const {
    if (options_.policy == GuardOptions::Policy::off) return std::nullopt;
    return guard_.gradient_norm();
  }

  void state(StateVisitor& visitor);

 private:
  void keep_copy(const Stager& stager, int64_t step);
  Outcome skip(const std::string& report);
  Outcome roll_back(const std::string& report, Stager& stager, int64_t step);
  void watch(const Stager::Batch& batch);

  static constexpr double kNoLoss = -std::numeric_limits<double>::infinity();

  Runner& runner_;
  GuardOptions options_;
  StepGuard guard_;
  TrivialLoss trivial_;
  double first_loss_ = kNoLoss;  // Of the run's first step; a resumed run keeps it.
  Divergence divergence_;
  DeadUnits dead_units_;
  int64_t skips_ = 0, skips_in_a_row_ = 0, rollbacks_ = 0;
  double rate_factor_ = 1;
  Variables variables_;
  VariableCopy copy_;
  int64_t copy_step_ = -1;
  Stager::Place copy_place_;
};

}  // namespace snug
