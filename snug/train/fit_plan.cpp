#include "snug/train/fit_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "snug/base/bytes.h"
#include "snug/train/stager.h"

namespace snug {
namespace {

bool has_batch_statistics(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const Node* node) {
    return node->op().name().starts_with("batch_norm_sums");
  });
}

// How the rows of a batch are run, and what of it the budget has asked for.
std::string scheme_text(Runner& runner) {
  const Program& program = *runner.programs()[0];
  const PartitionOptions& cut = runner.cuts()[0];
  const Problem& problem = program.problem();
  std::string text = "  rows of a batch: as they run best\n";
  if (cut.forced_part_rows > 0) {
    text = fmt::format("  rows of a batch: in parts of {} at most, {}\n", cut.forced_part_rows,
                       cut.one_lane ? "one after the other" : "side by side");
  }
  if (!cut.parts) text = "  rows of a batch: all at once, node by node\n";
  if (feeds(program)) text += "  inputs: brought for each part when it runs\n";
  if (const size_t again = program.plan().steps.size() - problem.nodes.size(); again > 0)
    text += fmt::format("  computed again: {} of {} nodes\n", again, problem.nodes.size());
  if (has_batch_statistics(*runner.step().graph))
    text += "  batch statistics: of the whole batch, layer by layer, however its rows are cut\n";
  if (cut.reproducible) text += "  sums over rows: the same bits with every plan\n";
  return text;
}

std::string step_text_of(Runner& runner, int64_t memory_bytes) {
  if (runner.programs().empty()) return "";
  const Program& program = *runner.programs()[0];
  return '\n' + scheme_text(runner) + '\n' +
         report(program.problem(), program.plan(), memory_bytes);
}

}  // namespace

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
  if (save_bytes > 0) line("copy of the state, to save beside steps", save_bytes);
  if (source_bytes > 0) line("buffers of the data", source_bytes);
  if (ahead_bytes > 0) line("rows read ahead", ahead_bytes);
  line("arena (activations, gradients, slots)", arena_bytes);
  line("total", total_bytes());
  if (kernel_bytes > 0) line("page tables and the like, beside it", kernel_bytes);
  if (budget_bytes > 0) line("budget", budget_bytes);
  if (tried_ns > 0) {
    const bool is_long = tried_ns >= 1e9;
    text += fmt::format("\n  {:<38}{:>9.3g} {}\n", "a step, with its rows (measured)",
                        tried_ns / (is_long ? 1e9 : 1e6), is_long ? "s" : "ms");
  }
  if (!step_text.empty()) return text + step_text;
  return training ? text + step_text_of(*training, kUnlimited) : text;
}

void FitPlan::describe_step() {
  const int64_t left = budget_bytes - needed_bytes() + arena_bytes;
  if (training) step_text = step_text_of(*training, budget_bytes > 0 ? left : kUnlimited);
}

SpilledBytes FitPlan::spilled_bytes() const {
  if (!training || training->programs().empty()) return {};
  const Program& program = *training->programs()[0];
  return snug::spilled_bytes(program.problem(), program.plan());
}

std::string FitPlan::largest_part() const {
  const std::array<std::pair<const char*, int64_t>, 6> parts = {
      {{"the weights", weight_bytes},
       {"the optimizer's state", slot_bytes},
       {"activations, gradients and data slots", arena_bytes},
       {"the metrics", metric_bytes},
       {"what callbacks take", callback_bytes},
       {"the program itself", process_bytes + reserve_bytes}}};
  const auto& [name, bytes] =
      *std::ranges::max_element(parts, {}, [](const auto& part) { return part.second; });
  return fmt::format("{} ({})", name, bytes_text(bytes));
}

}  // namespace snug
