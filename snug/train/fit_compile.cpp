// A planned fit with its kernels compiled: what they took is measured, and planned with.

#include <algorithm>
#include <ctime>
#include <utility>
#include <vector>

#include "snug/base/bytes.h"
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
// kForRest: more than any of 1,068 random runs did (2.08 MiB), by what starts differ. So what fits
// here fits when it is measured after the first run, and the least budget is the same for every
// process. What binding a plan adds is for_first_run's to count.
constexpr int64_t kForFirstRun = 2_MiB + 256_KiB;

int64_t held_bytes(const Model& model, const Source& data, const FitOptions& options) {
  Variables state = model.weights();
  const Variables& slots = model.compiled().slots();
  state.insert(state.end(), slots.begin(), slots.end());
  size_t held = state_bytes(state) - allocation_bytes(state) + data.buffer_bytes();
  if (options.validation_data) held += options.validation_data->buffer_bytes();
  return static_cast<int64_t>(held);
}

std::vector<Runner*> runners_of(const FitPlan& plan) {
  std::vector<Runner*> runners;
  for (Runner* runner : {plan.training.get(), plan.validation.get()})
    if (runner != nullptr) runners.push_back(runner);
  return runners;
}

// Compiles while there is room, and says how many kernels are missing then, and what those take:
// as much each as the others.
struct MissingKernels {
  size_t count = 0;
  int64_t bytes = 0;
};
MissingKernels compile_in_room(const FitPlan& plan, const Room& room) {
  constexpr int64_t kOfAKernel = 16_KiB;  // Where none is compiled.
  const int64_t before = resident_bytes();
  size_t done = 0, all = 0;
  for (const Runner* runner : runners_of(plan)) all += runner->kernel_count();
  const auto goes_on = [&, has_released = false]() mutable {
    // What compiling has left free is not in use.
    if (room.is_full() && !std::exchange(has_released, true)) release_free_heap();
    return !room.is_full() && ++done > 0;
  };
  for (Runner* runner : runners_of(plan)) {
    if (runner->compile(goes_on)) continue;
    const auto count = static_cast<int64_t>(all - done), made = static_cast<int64_t>(done);
    const int64_t each = made > 0 ? (resident_bytes() - before) / made : kOfAKernel;
    return {all - done, count * std::max<int64_t>(each, 1)};
  }
  return {};
}

// What of the state is not allocated yet.
int64_t missing_state(const FitPlan& plan) {
  Variables state;
  for (Runner* runner : runners_of(plan)) {
    for (const auto& [variable, value] : runner->step().variables) {
      if (std::ranges::find(state, variable) == state.end()) state.push_back(variable);
    }
  }
  return static_cast<int64_t>(allocation_bytes(state));
}

int64_t for_first_run(const FitPlan& plan) {
  int64_t bytes = kForFirstRun;
  for (const Runner* runner : runners_of(plan)) bytes += runner->bytes_to_bind();
  return bytes;
}

// Compiles, and says what that took: neither what planning has left free is of it, nor code that
// only planning needs. Where there is no room for all kernels the plan does not fit.
int64_t compiled_reserve(FitPlan& plan, const Budget& budget) {
  if (budget.whole_process) release_unused(budget);
  const int64_t still_to_come =
      missing_state(plan) + plan.arena_bytes + plan.ahead_bytes + for_first_run(plan);
  const Room room = room_for_kernels(budget, plan.callback_bytes + still_to_come);
  const MissingKernels missing = compile_in_room(plan, room);
  release_free_heap(budget);
  const int64_t reserve = measured_reserve(plan, budget, still_to_come) + missing.bytes;
  if (missing.count == 0) return reserve;
  const int64_t others = plan.needed_bytes() - plan.reserve_bytes - plan.save_bytes;
  if (room.is_machines) throw NoRoomError(others + reserve);
  return std::max(reserve, budget.bytes - others + 1);
}

// Plans within what the kernels of the plan before have left, until both fit.
class Compilation {
 public:
  Compilation(const PlanWithin& plan, Budget& budget, const AloneScope* alone)
      : plan_within_(plan),
        budget_(budget),
        alone_(alone),
        wanted_(alone != nullptr ? Wanted::any : budget.wanted) {}

  // Throws BudgetError.
  FitSetup run() {
    constexpr int kTries = 4;
    for (int tried = 1;; ++tried) {
      if (tried == kTries) wanted_ = Wanted::smallest;
      FitSetup setup = plan();
      if (is_disturbed() || fits_with_kernels(setup)) return refined(std::move(setup));
      if (wanted_ == Wanted::smallest) break;
      // More each time: a plan in smaller parts has other kernels, which may take more again.
      budget_.reserve_bytes = std::max(budget_.reserve_bytes + kMore, setup.plan.reserve_bytes);
    }
    throw BudgetError("the step and its kernels do not fit the budget of {}; give it more memory",
                      bytes_text(budget_.bytes));
  }

 private:
  bool is_disturbed() const { return alone_ != nullptr && !alone_->was_alone(); }

  bool fits_with_kernels(FitSetup& setup) const {
    measure_kernels(setup.plan, budget_);
    return setup.plan.fits_if_saved_in_place();
  }

  FitSetup plan() {
    if (wanted_ != Wanted::smallest) {
      try {
        return planned(wanted_);
      } catch (const StepBudgetError& error) {
        if (budget_.reserve_bytes == 0 && error.missing_bytes() > budget_.bytes / kFarFrom) throw;
        // The kernels that were measured, or estimated, are not those of the smallest plan, which
        // may take less.
        wanted_ = Wanted::smallest;
      }
    }
    FitSetup setup = planned(Wanted::smallest);
    setup.plan.is_smallest = true;
    return setup;
  }

  // A process that begins plans on a heap of whole pages. What the plan before has left free is in
  // pieces: a search would stand beside it, and find no room where a trial, which begins anew,
  // finds it.
  FitSetup planned(Wanted wanted) {
    if (std::exchange(has_planned_, true)) release_unused(budget_);
    Budget budget = budget_;
    budget.wanted = wanted;
    return plan_within_(budget);
  }

  // What is run is looked for with care, where any plan is known to fit; a trial only asks for
  // that. A faster plan may have larger kernels, or take more memory to be found: then it is the
  // one before.
  FitSetup refined(FitSetup setup) {
    const bool was_smallest = setup.plan.is_smallest;
    const bool may_be_faster = was_smallest ? leaves_much(setup.plan) : is_rough(setup.plan);
    if (alone_ == nullptr || !may_be_faster) return setup;
    const int64_t enough = budget_.reserve_bytes, measured = setup.plan.reserve_bytes;
    setup = FitSetup();  // Its kernels go first.
    budget_.reserve_bytes = measured;
    if (std::optional<FitSetup> fast = fastest()) return std::move(*fast);
    budget_.reserve_bytes = enough;
    for (const Wanted wanted : {Wanted::any, Wanted::smallest}) {
      if (was_smallest && wanted != Wanted::smallest) continue;
      wanted_ = wanted;
      setup = FitSetup();
      setup = plan();
      if (is_disturbed() || fits_with_kernels(setup)) return setup;
    }
    throw BudgetError("fit: its kernels do not fit the budget");
  }

  // With a little less room than there is: a search that is broken off, and a kernel that is one
  // too many, stand above their limit for a moment, and that must not be the peak of the plan that
  // is known.
  std::optional<FitSetup> fastest() {
    constexpr int kTries = 2;
    constexpr int64_t kLess = 512_KiB;
    const int64_t room = budget_.room_bytes;
    budget_.room_bytes = (room > 0 ? room : budget_.bytes) - kLess;
    std::optional<FitSetup> found = fastest_in_room(kTries);
    budget_.room_bytes = room;
    return found;
  }

  std::optional<FitSetup> fastest_in_room(int tries) {
    try {
      for (int tried = 0; tried < tries; ++tried) {
        FitSetup setup = planned(Wanted::fastest);
        if (is_disturbed() || fits_with_kernels(setup)) return setup;
        budget_.reserve_bytes = std::max(budget_.reserve_bytes + kMore, setup.plan.reserve_bytes);
      }
    } catch (const BudgetError&) {
      // A plan that fits is known.
    }
    return {};
  }

  // Of a smallest plan, which was taken because kernels of a larger one were estimated too high: a
  // little more may be many times as fast.
  bool leaves_much(const FitPlan& plan) const {
    constexpr int64_t kMuch = 64;  // That share of the budget.
    return budget_.bytes - (plan.needed_bytes() - plan.save_bytes) > budget_.bytes / kMuch;
  }

  static bool is_rough(const FitPlan& plan) {
    return (plan.training && plan.training->is_rough()) ||
           (plan.validation && plan.validation->is_rough());
  }

  static constexpr int64_t kMore = 128_KiB;
  static constexpr int64_t kFarFrom = 4;  // What lacks more than this share of a budget.
  const PlanWithin& plan_within_;
  Budget& budget_;
  const AloneScope* alone_;  // None: it is a trial.
  Wanted wanted_;            // The smallest is the last that is tried.
  bool has_planned_ = false;
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
    total = std::max(total, peak + std::min(still_to_come, kForRest + kForFirstStep));
  }
  return std::max<int64_t>(total - (plan.total_bytes() - plan.reserve_bytes), 0);
}

FitSetup compile_within(const PlanWithin& plan, Budget& budget, const AloneScope* alone) {
  return Compilation(plan, budget, alone).run();
}

FitSetup compile_fit(Model& model, const SourcePtr& data, const FitOptions& options, Budget& budget,
                     const AloneScope& alone) {
  const PlanningScope once;
  const std::clock_t begun = std::clock();
  try {
    const auto plan = [&](const Budget& tried) {
      return plan_fit(model, model.compiled(), data, options, tried);
    };
    return compile_within(plan, budget, &alone);
  } catch (const BudgetError&) {
  }
  // Outside of the handler: what was thrown is given back before anything is measured.
  throw FitRefused(explain_refusal(model, data, options, budget, begun));
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
