// What a person is told about a step that was not committed.
#pragma once

#include <span>
#include <string>

#include "snug/train/step_guard.h"

namespace snug {

struct GuardScene {
  StepInfo info;
  std::span<const int64_t> rows;  // The numbers of the batch's rows in their source.
  int epoch = 0;
  int64_t step = 0;  // In the epoch, from 0.
  double learning_rate = 0;
  double gradient_norm = 0;
};

// One paragraph without an end: step and epoch, the first node that went wrong and its rows, rate
// and norm, what to try. Runs the step once more, node by node, where a number is not finite.
std::string guard_report(const GuardFinding& finding, Program& program, const GuardScene& scene);

}  // namespace snug
