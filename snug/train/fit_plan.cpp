#include "snug/train/fit_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "snug/base/bytes.h"

namespace snug {

std::string FitPlan::text() const {
  std::string text = fmt::format("Memory plan for batches of {} rows\n", batch_size);
  const auto line = [&](const char* what, int64_t bytes) {
    text += fmt::format("  {:<38}{:>12}\n", what, bytes_text(bytes));
  };
  line("the process itself", process_bytes);
  line(is_measured ? "kernels, stacks, code (measured)" : "kernels, stacks, code (estimated)",
       reserve_bytes);
  line("weights", weight_bytes);
  line("optimizer", slot_bytes);
  line("metrics", metric_bytes);
  if (callback_bytes > 0) line("callbacks", callback_bytes);
  if (source_bytes > 0) line("buffers of the data", source_bytes);
  if (ahead_bytes > 0) line("rows read ahead", ahead_bytes);
  line("arena (activations, gradients, slots)", arena_bytes);
  line("total", total_bytes());
  if (kernel_bytes > 0) line("page tables and the like, beside it", kernel_bytes);
  if (budget_bytes > 0) line("budget", budget_bytes);
  if (training && !training->programs().empty()) {
    const Program& program = *training->programs()[0];
    text += '\n' + report(program.problem(), program.plan());
  }
  return text;
}

std::string FitPlan::largest_part() const {
  const std::array<std::pair<const char*, int64_t>, 6> parts = {
      {{"the weights", weight_bytes},
       {"the optimizer's state", slot_bytes},
       {"activations, gradients and data slots", arena_bytes},
       {"the metrics", metric_bytes},
       {"what callbacks keep", callback_bytes},
       {"the program itself", process_bytes + reserve_bytes}}};
  const auto& [name, bytes] =
      *std::ranges::max_element(parts, {}, [](const auto& part) { return part.second; });
  return fmt::format("{} ({})", name, bytes_text(bytes));
}

}  // namespace snug
