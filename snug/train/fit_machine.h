// What decides the bits of a run beside its state: a checkpoint carries it, a resume compares it.
#pragma once

#include <string>

#include "snug/train/run_state.h"
#include "snug/train/runner.h"

namespace snug {

struct FitMachine {
  uint64_t seed = 0;
  int64_t batch_size = 0;
  int64_t rows = -1;  // -1: not known.
  bool shuffle = false;
  int threads = 0;
  std::string instruction_set;
  // How the step is cut into parts and lanes: a checksum, or "reproducible" where it does not
  // matter.
  std::string partition;

  void visit(StateVisitor& visitor);
  // This run's against the one of a checkpoint. Throws Error where going on would make no sense,
  // and warns where it goes on with other rounding.
  void compare(const FitMachine& saved) const;
};

std::string partition_of(const Runner& runner);
std::string instruction_set();

}  // namespace snug
