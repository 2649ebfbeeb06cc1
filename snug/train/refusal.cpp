#include "snug/train/refusal.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "snug/base/bytes.h"
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

  // The planner's word holds for what is planned. Compiled kernels, and planning itself, take what
  // they take: so budgets are tried, from the planner's on, until one works and hundredths less
  // do not.
  int64_t least_that_works(int64_t planned) {
    int64_t works = 0, fails = budget_.bytes, more = planned / 64;
    for (int64_t tried = planned; works == 0 || can_be_lower(works, fails);) {
      const bool is_enough = would_work(tried);
      (is_enough ? works : fails) = tried;
      if (is_over()) break;
      if (works > 0) tried = std::max((works + fails) / 2, works - works / 32);
      if (works == 0) tried += std::exchange(more, 2 * more);
    }
    // Out of time before one has worked: with what was still missing, and as much again.
    return works > 0 ? works : fails + 2 * more;
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
  // Refusals come within seconds.
  bool is_over() const {
    return std::chrono::steady_clock::now() - start_ > std::chrono::seconds(4);
  }
  static bool can_be_lower(int64_t works, int64_t fails) { return works - fails > works / 160; }
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
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
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
  refusal.least_bytes = trials.least_that_works(refusal.least_bytes);
  // How much of the code is resident differs by as much from run to run: the system maps pages
  // around those that are touched, and where it begins depends on the addresses of this run.
  constexpr int64_t kOfChance = 448_KiB;
  if (budget.whole_process) refusal.least_bytes += kOfChance;
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
