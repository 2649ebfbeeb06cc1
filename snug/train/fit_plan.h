// What a fit will need: the programs of training and validation in one arena, and the state beside
// it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "snug/plan/transfers.h"
#include "snug/train/runner.h"

namespace snug {

struct FitPlan {
  std::shared_ptr<Runner> training;    // Null where nothing trains.
  std::shared_ptr<Runner> validation;  // Null without validation.
  int64_t batch_size = 0;
  int64_t weight_bytes = 0;  // Of the model.
  int64_t slot_bytes = 0;    // Of the optimizer.
  int64_t metric_bytes = 0;  // Of training and validation.
  // What callbacks keep, such as the best weights, and the most that one of them takes for a while;
  // the history; what the guard and checkpoints hold.
  int64_t callback_bytes = 0;
  // For a copy of the state and the thread that writes it, so that checkpoints are saved beside the
  // steps. 0: they are not saved, or written in place while training waits. Only where all else
  // leaves so much: it never makes a fit too large.
  int64_t save_bytes = 0;
  int64_t source_bytes = 0;   // Buffers of the sources, beside the caller's own arrays.
  int64_t ahead_bytes = 0;    // Rows that are read ahead, and the thread that reads them.
  int64_t arena_bytes = 0;    // Activations, gradients, scratch, data slots.
  int64_t process_bytes = 0;  // Resident before anything of this fit was allocated, code included.
  // For what the process adds while it runs: compiled kernels, stacks, library pages. An estimate
  // until the fit has measured it, which it does before its first step.
  int64_t reserve_bytes = 0;
  bool is_measured = false;
  bool is_smallest = false;  // There is no smaller plan.
  // What the kernel keeps for the process beside its pages; a memory cgroup charges it too. Only
  // where the budget is the process's.
  int64_t kernel_bytes = 0;
  int64_t budget_bytes = 0;
  // With less it would not be accepted so: what it needs with as much as any first run may add. 0
  // until its kernels are compiled.
  int64_t asked_bytes = 0;
  double tried_ns = 0;    // What a step takes, where some were made (FitRun::time_steps).
  std::string step_text;  // Of describe_step().

  // Resident bytes at the peak: of the process, or of what Snug adds to it.
  int64_t total_bytes() const {
    return weight_bytes + slot_bytes + metric_bytes + callback_bytes + save_bytes + source_bytes +
           ahead_bytes + arena_bytes + process_bytes + reserve_bytes;
  }
  // The least budget that allows it.
  int64_t needed_bytes() const { return total_bytes() + kernel_bytes; }
  bool fits() const { return needed_bytes() <= budget_bytes; }
  // What a step writes to the spill file and reads from it; nothing where it needs none.
  SpilledBytes spilled_bytes() const;
  // The same, after what it can do without was given up where it has to be.
  bool fits_if_saved_in_place() {
    if (!fits()) save_bytes = 0;
    return fits();
  }
  // The table: bytes by kind, the peak, the largest values.
  std::string text() const;
  // Makes the part of that text that is about the step, in no more memory than the budget leaves
  // before the arena is there. Without, text() makes it when it is called.
  void describe_step();
  // The largest of them, as "the weights (12.3 MiB)".
  std::string largest_part() const;
};

}  // namespace snug
