// A step's graph made to run: planned for the row counts it will see, bound to memory, fed and
// read.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "snug/exec/program.h"
#include "snug/plan/fit_budget.h"
#include "snug/train/spill_options.h"
#include "snug/train/step_graph.h"

namespace snug {

struct RunnerOptions {
  Target target;
  bool fuse = true;
  bool keep_all = false;  // See InstantiateOptions.
  PartitionOptions partition;
  // Inputs and targets come from the caller's memory where it has them just so: no slots for them
  // in the arena.
  bool borrow_inputs = false;
  // The rows of inputs can be brought at any time while the step runs, and again: where the budget
  // wants it, they have no slots for the whole batch. See Program::set_feeder.
  bool feed_inputs = false;
  bool reproducible = false;          // See PartitionOptions.
  int64_t budget_bytes = kUnlimited;  // For the arena and the variables of the step.
  Wanted wanted = Wanted::fastest;
  // Rows of a batch that may come, of a number not known yet: a program is made for so many, whose
  // place program_for() gives to the one that is needed. 0: none.
  int64_t spare_rows = 0;
  // The speeds that a budget's plan is weighed by; without, those of this machine, asked for when a
  // budget first binds, and then measured where they are not known and may be.
  std::optional<CostModel> costs;
  bool measures = true;
  SpillLimits spill;
  SpillOptions spill_file;  // With a folder, where `spill` allows one.
};

// The speeds of this machine as far as they are known without measuring.
CostModel known_costs(int threads);
DiskSpeed known_disk(const SpillOptions& spill, int threads);
// The same, measured where they are not known; of the disk only where values may go there.
CostModel measured_costs(int threads, const SpillOptions& spill, bool spills);

// What of a disk a step may take: nothing where it is not allowed, or where no folder can hold such
// a file; the folder is then chosen. Throws FileError for a folder of the user's that cannot.
SpillLimits spill_limits(SpillOptions& options);

class Runner {
 public:
  // Plans the step for each number of rows. Throws BudgetError when one of them does not fit.
  Runner(StepGraph step, const std::vector<int64_t>& rows, const RunnerOptions& options);

  StepGraph& step() { return step_; }
  // The largest arena that one of its programs needs.
  size_t arena_bytes() const;
  // About what bind() adds to the heap.
  int64_t bytes_to_bind() const;
  // The largest spill file; 0: none is needed.
  int64_t file_bytes() const;
  int threads() const { return options_.target.threads; }
  const SpillOptions& spill_options() const { return options_.spill_file; }
  // The program for this number of rows; fails when it was not planned.
  Program& program(int64_t rows);
  // The same, but one that was not planned is now, to run in the memory that is bound; it takes the
  // place of the spare one, or of the one that was last made so.
  Program& program_for(int64_t rows);
  // Null where there is none.
  Program* spare() const { return late_.get(); }
  const std::vector<std::unique_ptr<Program>>& programs() const { return programs_; }
  // Another number once programs were bound anew, or one was made in the place of another: what was
  // looked up in a program before, by its address, is stale.
  int64_t bindings() const { return bindings_; }
  // How the rows of each program are cut, in the order of programs(): with the threads, it decides
  // the bits of sums over rows.
  const std::vector<PartitionOptions>& cuts() const { return cuts_; }

  // Whether a faster plan could be looked for: see PlannedStep.
  bool is_rough() const { return is_rough_; }
  // How a step of the first number of rows runs, and in which predicted time; the budget is left
  // out.
  CurvePoint point() const;

  // Compiles the kernels of all programs, which takes memory beside the arena; bind() does it where
  // it was not done. `goes_on` is asked before each: when it says no, the others are left, and so
  // says the result.
  bool compile(const std::function<bool()>& goes_on = {});
  size_t kernel_count() const;
  // At most about what the compiled kernels hold.
  int64_t kernel_bytes() const;
  // Binds all programs to the arena and to the variables' memory; they must have values. `spill`
  // has file_bytes(), where that is not 0.
  void bind(std::byte* arena, SpillQueue* spill = nullptr);

  // Once bound, for a step that is kept for later calls: whether inputs come from the caller's
  // memory, which rest() forgets; whether each variable stands where it stood. Between rest() and
  // wake() it does not run, and costs nothing but memory.
  bool borrows_inputs() const { return options_.borrow_inputs; }
  void rest();
  void wake();
  bool stands_where_bound() const;

 private:
  PlannedStep plan(int64_t rows, int64_t budget_bytes, const SpillLimits& spill,
                   Wanted wanted = Wanted::fastest) const;
  InstantiateOptions instantiate_options() const;
  CostSource cost_source(int64_t budget_bytes) const;
  std::unique_ptr<Program> make_program(PlannedStep planned) const;
  const Graph& graph() const { return fused_ ? *fused_ : *step_.graph; }
  std::vector<void*> outside() const;
  void forget_borrowed();

  StepGraph step_;
  RunnerOptions options_;
  std::unique_ptr<Graph> fused_;
  std::vector<std::unique_ptr<Program>> programs_;
  std::vector<PartitionOptions> cuts_;
  std::unique_ptr<Program> late_;  // The spare one, or what has its place.
  bool is_rough_ = false;
  int64_t bindings_ = 0;
  std::vector<const void*> bound_;  // Where each variable stood.
  std::byte* arena_ = nullptr;
  SpillQueue* spill_ = nullptr;
};

}  // namespace snug
