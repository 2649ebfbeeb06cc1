#include "snug/train/refusal.h"

#include <algorithm>

#include "snug/base/bytes.h"
#include "snug/base/memory.h"
#include "snug/optim/optimizer.h"

namespace snug {
namespace {

// As it can be typed: no space between number and unit.
std::string typed_bytes(int64_t bytes) {
  std::string text = bytes_text(bytes, Rounding::up);
  std::erase(text, ' ');
  return text;
}

// Tries changes of one fit.
class Trials {
 public:
  Trials(Model& model, const SourcePtr& data, const FitOptions& options, const Budget& budget)
      : model_(model), data_(data), options_(options), budget_(budget) {}

  FitPlan fastest() {
    FitPlan plan =
        plan_fit(model_, model_.compiled(), data_, options_, without_limit(budget_)).plan;
    plan.save_bytes = 0;  // It can do without.
    return plan;
  }

  // The planner knows what a step lacks: each try adds what the one before has missed. `enough`
  // works.
  int64_t least_budget(int64_t enough) {
    Budget tried = budget_;
    while (tried.bytes < enough) {
      try {
        const FitPlan plan =
            plan_fit(model_, model_.compiled(), data_, options_, tried, /*is_trial=*/true).plan;
        if (plan.fits()) return tried.bytes;
        tried.bytes = plan.needed_bytes();
      } catch (const StepBudgetError& error) {
        tried.bytes += std::max<int64_t>(1, error.missing_bytes());
      }
    }
    return enough;
  }

  // Halves of the batch until one fits.
  std::optional<int64_t> smaller_batch(int64_t batch_size) {
    FitOptions options = options_;
    while (batch_size > 1) {
      batch_size /= 2;
      options.batch_size = batch_size;
      if (fits(model_.compiled(), options, budget_)) return batch_size;
    }
    return std::nullopt;
  }

  // An optimizer without moments keeps one or two numbers less for each weight.
  bool fits_with_sgd() {
    CompileOptions options = model_.compiled().options();
    if (options.optimizer->class_name() == "SGD") return false;
    options.optimizer = SGD();
    Compiled compiled(model_.network(), std::move(options));
    return fits(compiled, options_, budget_);
  }

 private:
  bool fits(Compiled& compiled, const FitOptions& options, const Budget& budget) {
    return plan_if_it_fits(model_, compiled, data_, options, budget).has_value();
  }

  Model& model_;
  SourcePtr data_;
  const FitOptions& options_;
  Budget budget_;
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
                        const Budget& budget) {
  Trials trials(model, data, options, budget);
  const FitPlan fastest = trials.fastest();
  Refusal refusal{.budget_bytes = budget.bytes,
                  .batch_size = fastest.batch_size,
                  .fastest_bytes = fastest.needed_bytes(),
                  .largest_part = fastest.largest_part(),
                  .least_bytes = trials.least_budget(fastest.needed_bytes())};
  // Planning within a budget that is just enough takes more than planning without one: 1.3 MiB at
  // most in the runs of tests/budget.
  constexpr int64_t kForPlanning = 2_MiB;
  refusal.least_bytes += kForPlanning;
  if (budget.whole_process) {
    refusal.least_bytes =
        std::max(refusal.least_bytes, peak_resident_bytes() + kernel_bytes() + kForPlanning);
  }
  refusal.smaller_batch = trials.smaller_batch(fastest.batch_size);
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
