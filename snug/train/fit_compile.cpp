// A planned fit with its kernels compiled: what they took is measured, and planned with.

#include <algorithm>
#include <utility>

#include "snug/base/error.h"
#include "snug/base/heap.h"
#include "snug/base/memory.h"
#include "snug/plan/fit_budget.h"
#include "snug/train/fit_setup.h"
#include "snug/train/refusal.h"
#include "snug/train/room.h"

namespace snug {
namespace {

// What a first run of the programs may add to their compiled kernels (stacks, pages of code), and
// kForRest: as much as any run did. So what fits here fits when it is measured after the first run,
// and the least budget is the same for every process.
constexpr int64_t kForFirstRun = 2_MiB;

int64_t held_bytes(const Model& model, const Source& data, const FitOptions& options) {
  Variables state = model.weights();
  const Variables& slots = model.compiled().slots();
  state.insert(state.end(), slots.begin(), slots.end());
  size_t held = state_bytes(state) - allocation_bytes(state) + data.buffer_bytes();
  if (options.validation_data) held += options.validation_data->buffer_bytes();
  return static_cast<int64_t>(held);
}

// Compiles while there is room, and says which share of the kernels is compiled.
double compile_in_room(const FitPlan& plan, const Room& room) {
  size_t done = 0, all = 0;
  for (Runner* runner : {plan.training.get(), plan.validation.get()})
    all += runner != nullptr ? runner->kernel_count() : 0;
  for (Runner* runner : {plan.training.get(), plan.validation.get()}) {
    const auto goes_on = [&] { return !room.is_full() && ++done > 0; };
    if (runner != nullptr && !runner->compile(goes_on))
      return static_cast<double>(std::max<size_t>(1, done)) / static_cast<double>(all);
  }
  return 1;
}

// What of the state is not allocated yet.
int64_t missing_state(const FitPlan& plan) {
  Variables state;
  for (Runner* runner : {plan.training.get(), plan.validation.get()}) {
    if (runner == nullptr) continue;
    for (const auto& [variable, value] : runner->step().variables) {
      if (std::ranges::find(state, variable) == state.end()) state.push_back(variable);
    }
  }
  return static_cast<int64_t>(allocation_bytes(state));
}

// Compiles, and says what that took: neither what planning has left free is of it, nor code that
// only planning needs. Where there is no room for all kernels, the others take as much each; the
// plan does not fit then.
int64_t compiled_reserve(FitPlan& plan, const Budget& budget) {
  if (budget.whole_process) release_unused(budget);
  const Room room = room_of(budget);
  const double share = compile_in_room(plan, room);
  release_free_heap();
  const int64_t reserve = measured_reserve(
      plan, budget, missing_state(plan) + plan.arena_bytes + plan.ahead_bytes + kForFirstRun);
  if (share == 1) return reserve;
  const int64_t others = plan.needed_bytes() - plan.reserve_bytes;
  const auto all = static_cast<int64_t>(static_cast<double>(reserve) / share);
  if (room.is_machines) throw NoRoomError(others + all);
  return std::max(all, budget.bytes - others + 1);
}

// Plans within what the kernels of the plan before have left, until both fit.
class Compilation {
 public:
  Compilation(const PlanWithin& plan, Budget& budget, const AloneScope* alone)
      : plan_within_(plan), budget_(budget), alone_(alone) {}

  // Throws BudgetError.
  FitSetup run() {
    constexpr int kTries = 6;
    for (int tried = 1; tried <= kTries; ++tried) {
      FitSetup setup = plan();
      if (alone_ != nullptr && !alone_->was_alone()) return setup;
      measure_kernels(setup.plan, budget_);
      if (setup.plan.fits_if_saved_in_place()) return faster(std::move(setup));
      if (is_least_) break;
      too_little_ = std::max<int64_t>(1, budget_.reserve_bytes);
      // More each time: a plan in smaller parts has other kernels, which may take more again. The
      // last one is the smallest that there is.
      budget_.reserve_bytes = tried + 1 < kTries
                                  ? std::max(too_little_ + kMore, setup.plan.reserve_bytes)
                                  : budget_.bytes;
    }
    throw BudgetError("fit: its kernels do not fit the budget");
  }

 private:
  FitSetup plan() {
    constexpr int kMost = 4;
    for (int tried = 1;; ++tried) {
      try {
        return plan_within_(budget_);
      } catch (const StepBudgetError& error) {
        // Once for whole and last batches of training and validation.
        if (budget_.reserve_bytes == 0 || tried > kMost) throw;
        // The kernels that were measured belong to a larger plan. Those of the smallest one may
        // take less: it is compiled as if they did.
        is_least_ = true;
        budget_.reserve_bytes = std::max<int64_t>(1, budget_.reserve_bytes - error.missing_bytes());
      }
    }
  }

  // A plan that was made beside the kernels of a larger one may be smaller than it has to be: where
  // it is slow, a larger one is looked for between the two. A trial is done when one fits.
  FitSetup faster(FitSetup setup) {
    constexpr int kTries = 5;
    int64_t enough = budget_.reserve_bytes;
    for (int i = 0; i < kTries && alone_ != nullptr && is_slow(setup.plan); ++i) {
      if (too_little_ == 0 || enough - too_little_ <= kMore) break;
      budget_.reserve_bytes = too_little_ + (enough - too_little_) / 2;
      const bool fits = plan_again(setup);
      (fits ? enough : too_little_) = budget_.reserve_bytes;
    }
    if (std::exchange(budget_.reserve_bytes, enough) == enough || plan_again(setup)) return setup;
    throw BudgetError("fit: its kernels do not fit the budget");
  }

  // In the place of this one, whose kernels go first.
  bool plan_again(FitSetup& setup) {
    setup = FitSetup();
    setup = plan();
    measure_kernels(setup.plan, budget_);
    return setup.plan.fits_if_saved_in_place();
  }

  static bool is_slow(const FitPlan& plan) {
    constexpr double kSlow = 1.25;
    if (!plan.training || plan.training->programs().empty()) return false;
    const Plan& step = plan.training->programs()[0]->plan();
    return step.step_ns > kSlow * step.fastest_ns;
  }

  static constexpr int64_t kMore = 128_KiB;
  const PlanWithin& plan_within_;
  Budget& budget_;
  const AloneScope* alone_;  // None: it is a trial.
  bool is_least_ = false;
  int64_t too_little_ = 0;  // For the kernels of the plan that was made beside it.
};

}  // namespace

Budget fit_budget(const Model& model, const SourcePtr& data, const FitOptions& options) {
  Budget budget =
      make_budget(options.memory, options.whole_process, held_bytes(model, *data, options));
  budget.reserve_bytes = 0;  // Not known yet.
  return budget;
}

int64_t measured_reserve(const FitPlan& plan, const Budget& budget, int64_t still_to_come) {
  int64_t total = budget.process_bytes + resident_bytes() - budget.before_bytes +
                  plan.callback_bytes + plan.save_bytes + still_to_come;
  if (budget.whole_process) {
    const int64_t peak = std::max(budget.peak_bytes, peak_resident_bytes());
    total = std::max(total, peak + kForRest);
  }
  return std::max<int64_t>(total - (plan.total_bytes() - plan.reserve_bytes), 0);
}

FitSetup compile_within(const PlanWithin& plan, Budget& budget, const AloneScope* alone) {
  return Compilation(plan, budget, alone).run();
}

FitSetup compile_fit(Model& model, const SourcePtr& data, const FitOptions& options, Budget& budget,
                     const AloneScope& alone) {
  const PlanningScope once;
  int64_t missing_bytes = 0;
  try {
    const auto plan = [&](const Budget& tried) {
      return plan_fit(model, model.compiled(), data, options, tried);
    };
    return compile_within(plan, budget, &alone);
  } catch (const StepBudgetError& error) {
    if (budget.reserve_bytes == 0) missing_bytes = error.missing_bytes();
  } catch (const BudgetError&) {
  }
  // Outside of the handler: what was thrown is given back before anything is measured.
  throw FitRefused(explain_refusal(model, data, options, budget, missing_bytes));
}

std::optional<FitPlan> try_fit(Model& model, Compiled& compiled, const SourcePtr& data,
                               const FitOptions& options, Budget budget) {
  budget.reserve_bytes = 0;
  forget_tries(budget);
  try {
    const auto plan = [&](const Budget& tried) {
      return plan_fit(model, compiled, data, options, tried, /*is_trial=*/true);
    };
    return compile_within(plan, budget, nullptr).plan;
  } catch (const NoRoomError&) {
    throw;
  } catch (const BudgetError&) {
    return std::nullopt;
  }
}

void forget_tries(const Budget& budget) {
  release_unused(budget);
  if (!budget.whole_process) return;
  budget.file_pages.touch();
  forget_peak();
}

void measure_kernels(FitPlan& plan, const Budget& budget) {
  plan.reserve_bytes = compiled_reserve(plan, budget);
  plan.asked_bytes = plan.needed_bytes() - plan.save_bytes;
  plan.asked_bytes += chance_bytes(budget, plan.asked_bytes);
}

}  // namespace snug
