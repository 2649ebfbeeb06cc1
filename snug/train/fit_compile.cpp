// A planned fit with its kernels compiled: what they took is measured, and planned with.

#include <algorithm>

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

// Compiles, and says what that took. Neither what planning has left free is of it, nor code that
// only planning has touched, or the kernels of another plan: what is measured is of this one alone,
// whatever was tried before it.
int64_t compiled_reserve(FitPlan& plan, const Budget& budget) {
  if (budget.whole_process) FilePages::resident().minus(budget.file_pages).give_back();
  const std::function<void()> room = watched_room(budget.whole_process);
  Variables state;
  for (Runner* runner : {plan.training.get(), plan.validation.get()}) {
    if (runner == nullptr) continue;
    runner->compile(room);
    for (const auto& [variable, value] : runner->step().variables) {
      if (std::ranges::find(state, variable) == state.end()) state.push_back(variable);
    }
  }
  release_free_heap();
  const auto missing = static_cast<int64_t>(allocation_bytes(state));
  return measured_reserve(plan, budget,
                          missing + plan.arena_bytes + plan.ahead_bytes + kForFirstRun);
}

// Plans within what the kernels of the plan before have left, until both fit.
class Compilation {
 public:
  Compilation(const PlanWithin& plan, Budget& budget, const AloneScope* alone)
      : plan_within_(plan), budget_(budget), alone_(alone) {}

  // Throws BudgetError.
  FitSetup run() {
    constexpr int kTries = 6;
    constexpr int64_t kMore = 128_KiB;
    for (int tried = 1; tried <= kTries; ++tried) {
      FitSetup setup = plan();
      if (alone_ != nullptr && !alone_->was_alone()) return setup;
      measure_kernels(setup.plan, budget_);
      if (setup.plan.fits_if_saved_in_place()) return setup;
      if (is_least_) break;
      // More each time: a plan in smaller parts has other kernels, which may take more again.
      budget_.reserve_bytes = std::max(budget_.reserve_bytes + kMore, setup.plan.reserve_bytes);
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

  const PlanWithin& plan_within_;
  Budget& budget_;
  const AloneScope* alone_;  // None: it is a trial.
  bool is_least_ = false;
};

}  // namespace

Budget fit_budget(const Model& model, const SourcePtr& data, const FitOptions& options) {
  Budget budget =
      make_budget(options.memory, options.whole_process, held_bytes(model, *data, options));
  budget.reserve_bytes = 0;  // Not known yet.
  return budget;
}

int64_t measured_reserve(const FitPlan& plan, const Budget& budget, int64_t still_to_come) {
  // Files that are saved name each variable, and so do messages.
  constexpr int64_t kOfAVariable = 1_KiB;
  const int64_t names =
      plan.training ? std::ssize(plan.training->step().variables) * kOfAVariable : 0;
  int64_t total = budget.process_bytes + budget.added_bytes() + plan.callback_bytes +
                  plan.save_bytes + still_to_come + names;
  if (budget.whole_process) total = std::max(total, peak_resident_bytes() + kForRest + names);
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
    return compile_within(
        [&](const Budget& tried) {
          return plan_fit(model, model.compiled(), data, options, tried);
        },
        budget, &alone);
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
  } catch (const BudgetError&) {
    return std::nullopt;
  }
}

void forget_tries(const Budget& budget) {
  release_free_heap();
  if (!budget.whole_process) return;
  FilePages::resident().minus(budget.file_pages).give_back();
  budget.file_pages.touch();
  forget_peak();
}

void measure_kernels(FitPlan& plan, const Budget& budget) {
  plan.reserve_bytes = compiled_reserve(plan, budget);
  plan.asked_bytes = plan.needed_bytes() - plan.save_bytes;
  plan.asked_bytes += chance_bytes(budget, plan.asked_bytes);
}

}  // namespace snug
