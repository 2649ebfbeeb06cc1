// What a person is told about a step that was not committed.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "snug/train/guard_options.h"
#include "snug/train/step_guard.h"

namespace snug {

struct GuardScene {
  StepInfo info;
  std::span<const int64_t> rows;  // The numbers of the batch's rows in their source,
  // and where such a row stands in the data that the user knows: "row 17", "adult.csv: line 19".
  std::function<std::string(int64_t)> place;
  int epoch = 0;
  int64_t step = 0;  // In the epoch, from 0.
  double learning_rate = 0;
  double gradient_norm = 0;
  std::optional<GuardOptions::Policy> policy;  // Of a fit: the others are offered.
};

// One paragraph without an end: step and epoch, the first node that went wrong and its rows, rate
// and norm, what to try. Runs the step once more, node by node, where a number is not finite.
std::string guard_report(const GuardFinding& finding, Program& program, const GuardScene& scene);

}  // namespace snug
