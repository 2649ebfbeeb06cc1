#include "snug/train/budget.h"

#include <algorithm>
#include <atomic>

#include "snug/base/bytes.h"
#include "snug/base/error.h"
#include "snug/base/memory.h"
#include "snug/ops/ops.h"
#include "snug/plan/fit_budget.h"

namespace snug {
namespace {

std::atomic<int64_t> scopes_begun = 0, scopes_alive = 0;

// How much of the planner's code a run touches depends on how tight its budget is: up to a MiB,
// more than what one plan has over another. So all of it is touched before anything is measured, by
// a step that cannot fit: it is the process's own in every run, and a refusal measures what the run
// that it advises will measure.
void touch_planning() {
  constexpr int64_t kRows = 8192;
  constexpr int kLayers = 6;
  Graph graph;
  Values layers = {graph.input("x", {DType::float32, {snug::kRows, 8}})};
  for (int i = 0; i < kLayers; ++i) layers.push_back(ops::tanh(layers.back()));
  Value back = layers.back();
  for (int i = kLayers; i > 0; --i) back = ops::multiply(back, layers[i]);
  InstantiateOptions options;
  options.spill.allowed = true;
  try {
    plan_within(graph, {ops::sum(back)}, kRows, {.threads = 2}, 1, options);
  } catch (const StepBudgetError&) {
  }
}

}  // namespace

Budget make_budget(int64_t memory, bool whole_process, int64_t held_bytes) {
  if (memory < 0)
    throw Error("memory is {} bytes; give a budget, or 0 for what the machine leaves", memory);
  if (whole_process && memory > 0) touch_planning();
  Budget budget{.whole_process = whole_process};
  if (whole_process) budget.file_pages = FilePages::resident();
  budget.before_bytes = resident_bytes() - held_bytes;
  if (whole_process) {
    budget.process_bytes = budget.before_bytes;
    budget.kernel_bytes = kernel_bytes();
  }
  budget.reserve_bytes = 4_MiB;  // Of a small step.
  budget.bytes =
      memory > 0 ? memory
                 : budget.process_bytes + held_bytes + available_memory().default_budget_bytes();
  return budget;
}

Budget without_limit(Budget budget) {
  // More than any machine has, and far from overflow.
  budget.bytes = int64_t{1} << 60;
  return budget;
}

int64_t chance_bytes(const Budget& budget, int64_t bytes) {
  return std::max(budget.whole_process ? 144_KiB : 64_KiB, bytes / 100);
}

int64_t estimated_reserve(const Graph& step) {
  return 1_MiB + static_cast<int64_t>(step.nodes().size()) * 4_KiB;
}

AloneScope::AloneScope() : begun_(++scopes_begun) {
  // With others alive, it is as if one had begun after this one.
  if (++scopes_alive > 1) ++scopes_begun;
}

AloneScope::~AloneScope() { --scopes_alive; }

bool AloneScope::was_alone() const { return scopes_begun == begun_; }

}  // namespace snug
