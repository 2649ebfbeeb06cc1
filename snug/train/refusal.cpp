#include "snug/train/refusal.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "snug/base/bytes.h"
#include "snug/optim/optimizer.h"
#include "snug/plan/fit_budget.h"

namespace snug {
namespace {

// As it can be typed: no space between number and unit, and not more than half a thousandth above.
std::string typed_bytes(int64_t bytes) {
  if (bytes >= 1024_MiB) return fmt::format("{}MiB", (bytes + 1_MiB - 1) / 1_MiB);
  const int64_t hundredths = (bytes * 100 + 1_MiB - 1) / 1_MiB;
  return fmt::format("{}.{:02}MiB", hundredths / 100, hundredths % 100);
}

// Tries changes of one fit.
class Trials {
 public:
  Trials(Model& model, const SourcePtr& data, const FitOptions& options, const Budget& budget)
      : model_(model), data_(data), options_(options), budget_(budget) {
    if (budget.whole_process) touched_ = FilePages::resident();
    forget_tries(budget);
  }

  // What it takes without a limit.
  Refusal fastest() {
    FitPlan plan =
        plan_fit(model_, model_.compiled(), data_, options_, without_limit(budget_)).plan;
    measure_kernels(plan, budget_);
    plan.save_bytes = 0;  // It can do without.
    return {.budget_bytes = budget_.bytes,
            .batch_size = plan.batch_size,
            .fastest_bytes = plan.needed_bytes(),
            .largest_part = plan.largest_part()};
  }

  // What the smallest plan takes with its kernels. The planner knows what a step lacks: each try
  // adds what the one before has missed. `enough` is known to be.
  int64_t least_planned(int64_t enough, int64_t missing_bytes) {
    Budget tried = budget_;
    tried.bytes += missing_bytes;
    tried.reserve_bytes = 0;  // Estimated: what it takes is measured when it is planned.
    while (tried.bytes < enough) {
      try {
        FitPlan plan =
            plan_fit(model_, model_.compiled(), data_, options_, tried, /*is_trial=*/true).plan;
        if (plan.fits()) {
          measure_kernels(plan, tried);
          plan.save_bytes = 0;
          return plan.needed_bytes();
        }
        tried.bytes = plan.needed_bytes();
      } catch (const StepBudgetError& error) {
        tried.bytes += std::max<int64_t>(1, error.missing_bytes());
      }
    }
    return enough;
  }

  // What of the code only the first of all runs touches: what was resident before any of it was
  // tried, and does not come back when all that was done by then is done again. A process that
  // begins has it, too. `fastest` was just planned and compiled.
  void learn_first_pages(int64_t fastest_bytes) {
    // Of a large run it is nothing, and to fail once more would take long.
    constexpr int64_t kLarge = 256_MiB;
    if (!budget_.whole_process) return;
    FilePages again = FilePages::resident();
    if (fastest_bytes < kLarge) {
      would_work(budget_.bytes);
      again = again.plus(FilePages::resident());
    }
    budget_.file_pages = budget_.file_pages.plus(touched_.minus(again));
  }

  // Planning itself takes what it takes, and other plans have other kernels: so budgets are tried,
  // from that of the smallest plan on, in steps that double, up until one works or down until one
  // does not; then between the two.
  int64_t least_that_works(int64_t planned, int64_t enough) {
    int64_t works = 0, fails = budget_.bytes, step = planned / 256;
    bool is_between = false;
    for (int64_t tried = planned; works == 0 || can_be_lower(works, fails);) {
      const bool is_enough = would_work(tried);
      is_between = is_between || (is_enough ? fails > budget_.bytes : works > 0);
      (is_enough ? works : fails) = tried;
      if (is_over()) break;
      if (is_between)
        tried = fails + (works - fails) / 2;
      else
        tried = std::max(fails + 1, tried + (is_enough ? -1 : 1) * std::exchange(step, 2 * step));
    }
    // Out of time before one has worked: with what was still missing, and as much again.
    if (works == 0) works = fails + 2 * step;
    return works < enough ? works : std::min(works, fastest_that_works(enough));
  }

  // Halves of the batch until one fits.
  std::optional<int64_t> smaller_batch(int64_t batch_size) {
    FitOptions options = options_;
    while (batch_size > 1 && !is_over()) {
      batch_size /= 2;
      options.batch_size = batch_size;
      if (fits(model_.compiled(), options, budget_)) return batch_size;
    }
    return std::nullopt;
  }

  // An optimizer without moments keeps one or two numbers less for each weight.
  bool fits_with_sgd() {
    CompileOptions options = model_.compiled().options();
    if (options.optimizer->class_name() == "SGD" || is_over()) return false;
    options.optimizer = SGD();
    Compiled compiled(model_.network(), std::move(options));
    return fits(compiled, options_, budget_);
  }

 private:
  // Where all fits without a search; what is measured later may take a little more than was
  // planned.
  int64_t fastest_that_works(int64_t planned) {
    int64_t tried = planned + planned / 64;
    while (tried < planned + planned / 16 && !would_work(tried)) tried += planned / 64;
    return tried;
  }

  // Refusals come within seconds: of this process, so that other programs do not change them.
  bool is_over() const { return std::clock() - start_ > 3 * CLOCKS_PER_SEC; }
  static bool can_be_lower(int64_t works, int64_t fails) { return works - fails > works / 1024; }
  bool would_work(int64_t bytes) {
    Budget budget = budget_;
    budget.bytes = bytes;
    return would_compile(model_, data_, options_, budget);
  }

  bool fits(Compiled& compiled, const FitOptions& options, const Budget& budget) {
    return plan_if_it_fits(model_, compiled, data_, options, budget).has_value();
  }

  Model& model_;
  SourcePtr data_;
  const FitOptions& options_;
  Budget budget_;
  FilePages touched_;  // Before any of it was tried.
  PlanningScope once_;
  std::clock_t start_ = std::clock();
};

}  // namespace

std::string Refusal::text(const RefusalWords& words) const {
  std::vector<std::string> changes = {words.memory + typed_bytes(least_bytes)};
  if (smaller_batch) changes.push_back(fmt::format("{}{}", words.batch_size, *smaller_batch));
  if (fits_with_sgd) changes.push_back(words.sgd);
  return fmt::format(
      "it does not fit the budget of {}: batches of {} rows take {} at their fastest, and the "
      "largest part is {}; it fits with {}",
      bytes_text(budget_bytes), batch_size, bytes_text(fastest_bytes), largest_part,
      fmt::join(changes, ", or with "));
}

Refusal explain_refusal(Model& model, const SourcePtr& data, const FitOptions& options,
                        const Budget& budget, int64_t missing_bytes) {
  Trials trials(model, data, options, budget);
  Refusal refusal = trials.fastest();
  trials.learn_first_pages(refusal.fastest_bytes);
  refusal.least_bytes = trials.least_planned(refusal.fastest_bytes, missing_bytes);
  refusal.least_bytes = trials.least_that_works(refusal.least_bytes, refusal.fastest_bytes);
  // How much of the libraries is resident differs by as much from run to run: the system maps pages
  // around those that are touched, and where it begins depends on the addresses of this run.
  constexpr int64_t kOfChance = 144_KiB;
  if (budget.whole_process) refusal.least_bytes += kOfChance;
  refusal.smaller_batch = trials.smaller_batch(refusal.batch_size);
  refusal.fits_with_sgd = trials.fits_with_sgd();
  return refusal;
}

std::optional<FitPlan> plan_if_it_fits(Model& model, Compiled& compiled, const SourcePtr& data,
                                       const FitOptions& options, const Budget& budget) {
  try {
    FitPlan plan = plan_fit(model, compiled, data, options, budget, /*is_trial=*/true).plan;
    if (!plan.fits()) return std::nullopt;
    return plan;
  } catch (const BudgetError&) {
    return std::nullopt;
  }
}

Budget without_limit(Budget budget) {
  // More than any machine has, and far from overflow.
  budget.bytes = int64_t{1} << 60;
  return budget;
}

}  // namespace snug
