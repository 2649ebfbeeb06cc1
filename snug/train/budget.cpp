#include "snug/train/budget.h"

#include <algorithm>
#include <atomic>

#include "snug/base/bytes.h"
#include "snug/base/error.h"
#include "snug/base/heap.h"
#include "snug/base/log.h"
#include "snug/base/memory.h"
#include "snug/exec/program.h"
#include "snug/ops/ops.h"
#include "snug/train/step_cache.h"

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

// So is what only the first kernel of a process needs.
void touch_compiling() {
  constexpr int64_t kRows = 16;
  Graph graph;
  const Value x = graph.input("x", {DType::float32, {snug::kRows, 32}});
  const Value y = ops::matmul(x, graph.input("w", {DType::float32, {32, 32}}));
  PlannedStep step = plan_within(graph, {y}, kRows, {.threads = 2}, kUnlimited);
  Program(graph, std::move(step.instance), std::move(step.plan)).compile();
}

// Steps that are kept for later calls stand in no plan's way: neither in a budget, nor where they
// are more than a little of what the machine leaves.
void make_way(int64_t memory) {
  const int64_t kept = step_cache().bytes();
  if (kept == 0) return;
  if (memory > 0 || !BoundStep::is_little(kept, available_memory().default_budget_bytes()))
    step_cache().drop_all();
}

}  // namespace

Budget make_budget(int64_t memory, bool whole_process, int64_t held_bytes) {
  if (memory < 0)
    throw Error("memory is {} bytes; give a budget, or 0 for what the machine leaves", memory);
  if (whole_process && memory > 0) {
    touch_planning();
    touch_compiling();
  }
  make_way(memory);
  Budget budget{.whole_process = whole_process, .is_exact = whole_process || memory > 0};
  if (whole_process) budget.file_pages = FilePages::resident();
  // What runs before this one have left free would be taken for its own room; a search gives it
  // back, and the run after it would need more than was named.
  release_free_heap(budget);
  budget.before_bytes = resident_bytes() - held_bytes;
  if (whole_process) {
    budget.process_bytes = budget.before_bytes;
    budget.kernel_bytes = kernel_bytes();
    budget.peak_bytes = peak_resident_bytes();
  }
  budget.reserve_bytes = 4_MiB;  // Of a small step.
  budget.bytes =
      memory > 0 ? memory
                 : budget.process_bytes + held_bytes + available_memory().default_budget_bytes();
  return budget;
}

int64_t machine_bytes(const Budget& budget) {
  return budget.process_bytes + (resident_bytes() - budget.before_bytes) +
         available_memory().bytes();
}

void limit_to_machine(Budget& budget) {
  const int64_t most = machine_bytes(budget);
  if (budget.bytes <= most) return;
  log_message(LogLevel::warning, "memory is {}, but {} leaves {}; the plan is made for that",
              bytes_text(budget.bytes), available_memory().binding().name, bytes_text(most));
  budget.bytes = most;
}

void release_free_heap(const Budget& budget) {
  if (budget.is_exact) {
    release_free_heap();
  } else {
    release_large_free_heap();
  }
}

void release_unused(const Budget& budget) {
  release_free_heap();
  if (budget.whole_process) FilePages::resident().minus(budget.file_pages).give_back();
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

void TrialStart::note_first_run() { free_bytes_ = resident_bytes() - resident_in_use(); }

void TrialStart::note() {
  in_use_bytes_ = resident_in_use();
  resident_bytes_ = resident_bytes();
}

Budget TrialStart::begin(Budget budget) {
  if (in_use_bytes_ == 0) return budget;
  left_in_use_ = resident_in_use() - in_use_bytes_;
  left_bytes_ = resident_bytes() - resident_bytes_;
  budget.room_bytes = budget.bytes + left_bytes_;
  budget.before_bytes += left_bytes_;
  return budget;
}

int64_t TrialStart::hidden_bytes() const {
  if (in_use_bytes_ == 0) return 0;
  const int64_t alone = resident_in_use() - left_in_use_ + free_bytes_;
  return std::max<int64_t>(0, alone - (resident_bytes() - left_bytes_));
}

AloneScope::AloneScope() : begun_(++scopes_begun) {
  // With others alive, it is as if one had begun after this one.
  if (++scopes_alive > 1) ++scopes_begun;
}

AloneScope::~AloneScope() { --scopes_alive; }

bool AloneScope::was_alone() const { return scopes_begun == begun_; }

}  // namespace snug
