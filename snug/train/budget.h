// The bytes that a run may use, and what of them is not the planner's to give.
#pragma once

#include <cstdint>

#include "snug/base/bytes.h"
#include "snug/base/file_pages.h"
#include "snug/graph/graph.h"
#include "snug/plan/fit_budget.h"

namespace snug {

// What a run adds after it was measured: pages of code of its updates, files and messages.
inline constexpr int64_t kForRest = 960_KiB;
// What the kernel keeps when the first step has run, beyond what it kept before (0.52 MiB were
// seen): a peak of planning just below the budget would be too high then.
inline constexpr int64_t kForFirstStep = 640_KiB;

struct Budget {
  int64_t bytes = 0;          // What the user gave, or what the machine leaves.
  int64_t before_bytes = 0;   // Resident before this run, without what of its state was there.
  int64_t process_bytes = 0;  // Of these, what counts: all where the budget is the process's.
  // For what the process adds beside the plan: compiled kernels, stacks, pages of code that are
  // touched for the first time, and what the kernel keeps for it. Estimated before a run, measured
  // before its first step.
  int64_t reserve_bytes = 0;
  bool whole_process = false;
  // Every byte counts: all of the free heap is given back before anything is measured.
  bool is_exact = false;
  // Where the budget is the process's: what the kernel keeps for it before this run, and the pages
  // of code and constants that are resident then, or are touched once by any.
  int64_t kernel_bytes = 0;
  int64_t peak_bytes = 0;  // The most that was resident by then.
  FilePages file_pages;
  int64_t room_bytes = 0;  // For planning itself; 0: those of the budget.
  Wanted wanted = Wanted::fastest;

  // For state, arena and what callbacks take.
  int64_t for_run() const { return bytes - process_bytes - reserve_bytes; }
};

// `memory` 0: what the machine leaves. `held_bytes` of this run's own state are resident already:
// weights that were trained before, buffers of its sources. Throws Error for a negative `memory`.
Budget make_budget(int64_t memory, bool whole_process, int64_t held_bytes = 0);

// The most that a budget can be here: what the machine leaves, with what this run has of it.
int64_t machine_bytes(const Budget& budget);

// A budget is no promise of the machine's: what it does not have cannot be planned with.
void limit_to_machine(Budget& budget);

// Before something is measured: gives the free heap back to the system. All of it where bytes are
// counted; else only where it is large.
void release_free_heap(const Budget& budget);

// Gives the free heap back to the system, and code that was touched since the budget was made: what
// is needed of that comes again. The second only of a program that owns its process.
void release_unused(const Budget& budget);

// The budget without its limit.
Budget without_limit(Budget budget);

// What one run of so many bytes may take more than another. How much of the libraries is resident
// differs from process to process: the system maps pages around those that are touched, and where
// it begins depends on the addresses of this one. Where what is measured differs by a little, so
// may the plan, and with it its kernels.
int64_t chance_bytes(const Budget& budget, int64_t bytes);

// A guess at what compiled kernels, stacks and first-touched pages of code will add for a step:
// low, for what they took is measured when they are compiled, and planned with.
int64_t estimated_reserve(const Graph& step);

// What trials leave behind them, which a process that begins does not have: blocks that stand
// between others, and hold pages or leave holes in them; what is known of a step.
class TrialStart {
 public:
  // While the first of all plans lives, compiled, and the free heap was given back: how much of
  // what is resident is not in use then.
  void note_first_run();
  // Trials begin from here.
  void note();
  // The budget of a trial that begins now: with what was left behind since.
  Budget begin(Budget budget);
  // At its end, while its plan lives: what a process that begins would have resident beyond what
  // this one has, where the trial's own blocks stand in holes.
  int64_t hidden_bytes() const;

 private:
  int64_t free_bytes_ = 0;                         // Of the first run: resident, and not in use.
  int64_t resident_bytes_ = 0, in_use_bytes_ = 0;  // Where trials begin from.
  int64_t left_bytes_ = 0, left_in_use_ = 0;       // Left behind when the last one began.
};

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
