// How a fit comes to its first step: planned, compiled, bound, measured.

#include <algorithm>

#include "snug/base/bytes.h"
#include "snug/base/log.h"
#include "snug/base/memory.h"
#include "snug/train/fit.h"
#include "snug/train/refusal.h"

namespace snug {
namespace {

// A budget is no promise of the machine's: what it does not have cannot be planned with.
void limit_to_machine(Budget& budget) {
  const AvailableMemory memory = available_memory();
  const int64_t most =
      budget.process_bytes + (resident_bytes() - budget.before_bytes) + memory.bytes();
  if (budget.bytes <= most) return;
  log_message(LogLevel::warning, "memory is {}, but {} leaves {}; the plan is made for that",
              bytes_text(budget.bytes), memory.binding().name, bytes_text(most));
  budget.bytes = most;
}

}  // namespace

void FitRun::start() {
  budget_ = fit_budget(model_, data_, options_);
  if (options_.memory > 0) limit_to_machine(budget_);
  FitSetup setup = compile_fit(model_, data_, options_, budget_, alone_);
  batch_size_ = setup.batch_size;
  training_rows_ = setup.training_rows;
  training_ = std::move(setup.training);
  validation_ = std::move(setup.validation);
  plan_ = std::move(setup.plan);
  bind();
  if (setup.training_ahead) training_->read_ahead(*setup.training_ahead);
  if (setup.validation_ahead) validation_->read_ahead(*setup.validation_ahead);
  warm_up();
  guard_.emplace(model_.compiled(), *plan_.training, options_.guard);
}

void FitRun::bind() {
  model_.ensure_weights(options_.seed);
  allocate(model_.compiled().slots(), options_.seed);
  arena_ = Arena(static_cast<size_t>(plan_.arena_bytes));
  arena_.touch();
  for (Runner* runner : {plan_.training.get(), plan_.validation.get()}) {
    if (runner == nullptr) continue;
    Variables state;
    for (const auto& [variable, value] : runner->step().variables) state.push_back(variable);
    allocate(state, options_.seed);
    runner->bind(arena_.data());
  }
}

// Runs every program once without committing anything: what the process adds while it runs (pages
// of code, stacks of threads) is resident from now on, so it can be measured instead of guessed,
// and a run that would pass its budget is refused before its first step.
void FitRun::warm_up() {
  training_->warm_up(*plan_.training);
  if (validation_) validation_->warm_up(*plan_.validation);
  if (!alone_.was_alone()) return;
  plan_.reserve_bytes = measured_reserve(plan_, budget_, kForRest);
  plan_.is_measured = true;
  if (budget_.whole_process) plan_.kernel_bytes = kernel_bytes();
  if (plan_.fits()) return;
  budget_.reserve_bytes = plan_.reserve_bytes;
  throw FitRefused(explain_refusal(model_, data_, options_, budget_));
}

}  // namespace snug
