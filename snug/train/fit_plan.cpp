#include "snug/train/fit_plan.h"

#include <fmt/format.h>

#include "snug/base/bytes.h"

namespace snug {

std::string FitPlan::text() const {
  std::string text = fmt::format("Memory plan for batches of {} rows\n", batch_size);
  const auto line = [&](const char* what, int64_t bytes) {
    text += fmt::format("  {:<34}{:>12}\n", what, bytes_text(bytes));
  };
  line("the process itself", process_bytes);
  line("kernels, stacks, pages of code", reserve_bytes);
  line("weights", weight_bytes);
  line("optimizer", slot_bytes);
  line("metrics", metric_bytes);
  if (callback_bytes > 0) line("callbacks", callback_bytes);
  line("arena (activations, gradients, data)", arena_bytes);
  line("total", total_bytes());
  if (budget_bytes > 0) line("budget", budget_bytes);
  if (training && !training->programs().empty()) {
    const Program& program = *training->programs()[0];
    text += '\n' + report(program.problem(), program.plan());
  }
  return text;
}

}  // namespace snug
