// Units that learn nothing any more: the gradients of their weights are zero whatever comes in.
#pragma once

#include <string>
#include <vector>

#include "snug/train/run_state.h"
#include "snug/train/step_graph.h"

namespace snug {

class Program;

// Looks at the gradients of a few steps of each epoch (the 1st, 2nd, 4th, 8th, ...), and warns once
// of each layer of whose units three quarters, or more, have had none in all of them.
class DeadUnits {
 public:
  // Weights of rank 2 or more whose last axis are at least kLeastUnits units. Tables (embeddings)
  // have rows that rightly get no gradient.
  explicit DeadUnits(const StepGraph& step);

  void begin_epoch();
  // Between compute and commit of a step, which counts from 0 in its epoch.
  void look(const Program& program, int64_t step);
  void end_epoch(int epoch);
  void state(StateVisitor& visitor);

  static constexpr int64_t kLeastUnits = 4;
  static constexpr int kLeastLooks = 6;  // Fewer say nothing.

 private:
  struct Layer {
    std::string weight;
    Value gradient;
    int64_t units = 0;
    std::vector<bool> lives;  // Of each unit, in this epoch.
  };
  std::vector<Layer> layers_;
  std::vector<double> warned_of_;
  int looks_ = 0;
};

}  // namespace snug
