// A step of one's own: traced once on symbolic values, planned once, and then only run.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <type_traits>
#include <vector>

#include "snug/data/dataset.h"
#include "snug/tensor/arena.h"
#include "snug/train/gradient_tape.h"
#include "snug/train/runner.h"
#include "snug/train/step_guard.h"

namespace snug {

// Memory that several steps run in, one at a time; it is as large as the largest of them needs.
class StepArena {
 public:
  void reserve(size_t bytes);
  std::byte* data() const { return arena_.data(); }
  size_t bytes() const { return arena_.bytes(); }

 private:
  Arena arena_;
};

struct TraceOptions {
  // Every byte that the step adds stays within it, kernels for whole batches included. 0: what the
  // machine leaves.
  int64_t memory = 0;
  int threads = 0;            // 0: all cores.
  bool reproducible = false;  // As in FitOptions.
  uint64_t seed = 0;          // Of weights that have no values yet, and of random draws.
  bool training = true;
  std::shared_ptr<StepArena> arena;  // Another step's, to share it; null: one of its own.
  // Every value keeps its memory until the step ends: for each_node.
  bool keep_all = false;
  // Nothing of a step is committed when a number that it would write is not finite: NumericsError.
  bool guard = true;
};

class Step {
 public:
  using Function = std::function<Values(const Values& x, const Values& y)>;

  // Calls `function` once, plans what it computes and gives variables without values their first
  // ones. All updates take effect when a run ends: what a run computes, it computes with the
  // variables as they were. Throws BudgetError before anything is allocated when it does not fit.
  Step(const BatchSpec& spec, const TraceOptions& options, const Function& function);

  // Runs on a batch, and returns the first value that the function returned, or the mean of its
  // elements. A batch of fewer rows is planned for when it first comes, within the same arena.
  // Throws Error when the batch does not fit the spec.
  float operator()(const Batch& batch);

  // The same in two parts: fill these, then run. Throws Error for a number that there is not.
  Tensor input(int i) { return slot("input", step().inputs, i); }
  Tensor target(int i) { return slot("target", step().targets, i); }
  float run() { return run(spec_.batch_size); }

  // What the function returned, after a run, until another step of the same arena runs. Throws
  // Error before the first run.
  Tensor result(int i) const;
  int result_count() const { return static_cast<int>(runner_->step().predictions.size()); }

  // Runs node by node and calls `visit` after each; tensor() reads any value by then computed. What
  // commits runs last, behind the guard. Needs keep_all.
  void each_node(const Batch& batch, const std::function<void(const Node&)>& visit);
  Tensor tensor(Value value) const { return program_->tensor(value); }

  // Random draws depend on the seed, the epoch and the rows of this epoch so far.
  void begin_epoch(uint64_t epoch);

  const std::shared_ptr<StepArena>& arena() const { return arena_; }
  const Program& program() const { return runner_->program(spec_.batch_size); }
  StepGraph& step() const { return runner_->step(); }

 private:
  void bind();
  Tensor slot(std::string_view kind, const Values& values, int i);
  int64_t take(const Batch& batch);
  void begin_run(int64_t rows);
  float run(int64_t rows);
  void check();
  void end_run(int64_t rows);

  BatchSpec spec_;
  std::shared_ptr<Runner> runner_;
  std::shared_ptr<StepArena> arena_;
  std::byte* bound_to_ = nullptr;
  Program* program_ = nullptr;        // Of the last run.
  std::unique_ptr<StepGuard> guard_;  // Null where nothing is updated.
  StepInfo info_;
  int64_t steps_in_epoch_ = 0;
};

// The function gives a Value or Values.
template <typename Function>
Step trace(const BatchSpec& spec, const TraceOptions& options, const Function& function) {
  using Result = std::invoke_result_t<Function, const Values&, const Values&>;
  if constexpr (std::is_same_v<Result, Value>) {
    return Step(spec, options,
                [&](const Values& x, const Values& y) { return Values{function(x, y)}; });
  } else {
    return Step(spec, options, function);
  }
}

}  // namespace snug
