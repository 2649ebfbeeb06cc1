// What a run does about a step whose numbers are bad.
#pragma once

#include <cstdint>

namespace snug {

// Nothing of a bad step is committed, whatever the policy: no weight, moment, average, metric or
// counter. A step is bad when a gradient, or any number that it would write, is not finite, or when
// a gradient is larger than most_gradient.
struct GuardOptions {
  enum class Policy {
    off,       // Steps are not looked at.
    stop,      // NumericsError; the model is as after the step before.
    skip,      // The batch is left out, with a warning; too many of them stop the run.
    rollback,  // Back to the last copy of the state, with a lower rate; too many stop the run.
  };
  Policy policy = Policy::stop;
  int64_t most_skips_in_a_row = 3;
  int64_t most_skips = 100;
  int64_t most_rollbacks = 3;
  int64_t rollback_steps = 100;  // A copy is taken so often, and at the start of each epoch.
  double rollback_rate = 0.5;    // What the learning rate is multiplied by.
  double most_gradient = 1e15;   // |element|, before clipping.
  // The run stops when every step of an epoch has a loss larger than this many times what a
  // constant prediction would have.
  double most_loss = 1e4;

  void check() const;  // Throws Error when the numbers make no sense.
};

}  // namespace snug
