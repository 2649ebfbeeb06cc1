// Fits of one batch, called in a loop: what one has planned and bound is there for the next.

#include <new>

#include "snug/train/fit.h"
#include "snug/train/step_cache.h"
#include "snug/train/step_key.h"

namespace snug {

// Nullopt where its step is its own: with more than the one batch of `data`, or files to write to.
std::optional<std::string> FitRun::key() const {
  const bool is_plain = options_.callbacks.empty() && options_.class_weight.empty() &&
                        !options_.validation_data && options_.validation_split == 0 &&
                        !options_.checkpoint.is_on() && !options_.resume && !checkpoints_ &&
                        !options_.steps_per_epoch && !options_.whole_process;
  if (!is_plain) return std::nullopt;
  return step_key({.what = StepCall::What::train,
                   .network = &model_.network(),
                   .compiled = &model_.compiled(),
                   .source = data_.get(),
                   .rows = {*options_.batch_size},
                   .memory = options_.memory,
                   .threads = options_.threads,
                   .reproducible = options_.reproducible,
                   .guard = options_.guard.policy,
                   .spills = options_.spill.allowed});
}

bool FitRun::take_step() {
  const std::optional<std::string> wanted = key();
  if (!wanted) return false;
  options_.guard.check();
  std::optional<BoundStep> step = step_cache().take(model_.network(), *wanted);
  if (!step) return false;
  Stager stager(data_, {.batch_size = *options_.batch_size, .seed = options_.seed});
  if (stager.can_borrow(step->runner().step()) != step->runner().borrows_inputs()) return false;
  batch_size_ = *options_.batch_size;
  training_rows_ = {.count = data_->rows()};
  training_.emplace(std::move(stager));
  plan_ = std::move(step->plan);
  arena_ = std::move(step->arena);
  guard_.emplace(model_.compiled(), *plan_.training, options_.guard);
  return true;
}

void FitRun::keep_step() try {
  // A fit that goes on around this one has its budget for itself.
  if (spill_ || model_.compiled().left_bytes()) return;
  std::optional<std::string> own = key();
  if (!own) return;
  guard_.reset();
  training_.reset();
  BoundStep step{std::move(plan_), std::move(arena_)};
  if (options_.memory > 0 || BoundStep::is_little(step.bytes(), step.plan.budget_bytes))
    step_cache().put(model_.network(), std::move(*own), std::move(step));
} catch (const std::bad_alloc&) {
  // What there is no memory for is not kept.
}

}  // namespace snug
