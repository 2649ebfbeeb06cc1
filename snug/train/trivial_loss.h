// The loss that a constant prediction would have: what a model that has learned nothing is measured
// by.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "snug/train/compiled.h"
#include "snug/train/run_state.h"
#include "snug/train/runner.h"

namespace snug {

// The variance of the targets seen so far for mse, its root for mae, huber and log_cosh, the
// logarithm of the number of classes for crossentropies, 1 for other losses; of all outputs, by
// their loss_weights.
class TrivialLoss {
 public:
  TrivialLoss(const Compiled& compiled, const StepGraph& step);

  // Looks at the targets that stand in the program's slots, which may be used for other values
  // when the step runs.
  void look(const Program& program);
  // They count: the step was committed.
  void add();
  double loss() const;
  void state(StateVisitor& visitor);

 private:
  struct Output {
    Value target;
    double weight = 1;
    double fixed = 0;  // Where it does not depend on the targets.
    bool is_root = false;
    double count = 0, mean = 0, squares = 0;              // Squares of the distances to the mean.
    double new_count = 0, new_mean = 0, new_squares = 0;  // Of those looked at last.
    // In checkpoints: made once, as saving is waited for.
    std::array<std::string, 3> names = {};
  };
  std::vector<Output> outputs_;
};

}  // namespace snug
