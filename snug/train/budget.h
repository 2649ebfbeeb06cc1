// The bytes that a run may use, and what of them is not the planner's to give.
#pragma once

#include <cstdint>

#include "snug/base/file_pages.h"
#include "snug/graph/graph.h"

namespace snug {

struct Budget {
  int64_t bytes = 0;  // What the user gave, or what the machine leaves.
  // In use before this run (resident_in_use), without what of its state was there: what it adds is
  // counted from here.
  int64_t before_bytes = 0;
  // Resident before this run, where the budget is the process's; otherwise it does not count.
  int64_t process_bytes = 0;
  // For what the process adds beside the plan: compiled kernels, stacks, pages of code that are
  // touched for the first time, and what the kernel keeps for it. Estimated before a run, measured
  // before its first step.
  int64_t reserve_bytes = 0;
  bool whole_process = false;
  bool is_limited = false;  // By the user: then what a run adds is measured with care.
  // Where the budget is the process's: what the kernel keeps for it before this run, and the pages
  // of code and constants that are resident then, or are touched once by any.
  int64_t kernel_bytes = 0;
  FilePages file_pages;

  // For state, arena and what callbacks keep.
  int64_t for_run() const { return bytes - process_bytes - reserve_bytes; }
  // What the process has added since.
  int64_t added_bytes() const;
};

// `memory` 0: what the machine leaves. `held_bytes` of this run's own state are resident already:
// weights that were trained before, buffers of its sources. Throws Error for a negative `memory`.
Budget make_budget(int64_t memory, bool whole_process, int64_t held_bytes = 0);

// A budget is no promise of the machine's: what it does not have cannot be planned with.
void limit_to_machine(Budget& budget);

// The budget without its limit.
Budget without_limit(Budget budget);

// What one run of so many bytes may take more than another. How much of the libraries is resident
// differs from process to process: the system maps pages around those that are touched, and where
// it begins depends on the addresses of this one. Where what is measured differs by a little, so
// may the plan, and with it its kernels: more of it in large runs.
int64_t chance_bytes(const Budget& budget, int64_t bytes);

// A guess at what compiled kernels, stacks and first-touched pages of code will add for a step:
// low, for what they took is measured when they are compiled, and planned with.
int64_t estimated_reserve(const Graph& step);

// One run at a time can tell what it adds: while another one binds or runs in this process, growth
// of the process is not its own.
class AloneScope {
 public:
  AloneScope();
  ~AloneScope();
  AloneScope(const AloneScope&) = delete;
  AloneScope& operator=(const AloneScope&) = delete;

  // Whether no other scope lived since this one began.
  bool was_alone() const;

 private:
  int64_t begun_;
};

}  // namespace snug
