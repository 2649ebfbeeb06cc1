#include "snug/train/budget.h"

#include <atomic>

#include "snug/base/bytes.h"
#include "snug/base/error.h"
#include "snug/base/memory.h"

namespace snug {
namespace {

std::atomic<int64_t> scopes_begun = 0, scopes_alive = 0;

// A run that is refused throws, and one that is not may yet. What that touches of the code for the
// first time is half a MiB; it is the process's own before anything is measured, so that a refusal
// measures what the run that it advises will measure.
void touch_unwinding() {
  try {
    throw BudgetError("nothing is wrong; budget {}", bytes_text(0));
  } catch (const Error&) {
  }
}

}  // namespace

Budget make_budget(int64_t memory, bool whole_process, int64_t held_bytes) {
  if (whole_process) touch_unwinding();
  Budget budget{.whole_process = whole_process};
  if (whole_process) budget.file_pages = FilePages::resident();
  budget.before_bytes = resident_bytes() - held_bytes;
  if (whole_process) budget.process_bytes = budget.before_bytes;
  budget.reserve_bytes = 4_MiB;  // Of a small step.
  budget.bytes =
      memory > 0 ? memory
                 : budget.process_bytes + held_bytes + available_memory().default_budget_bytes();
  return budget;
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
