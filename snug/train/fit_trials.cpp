#include "snug/train/fit_trials.h"

#include <algorithm>
#include <utility>

#include "snug/base/bytes.h"
#include "snug/base/error.h"

namespace snug {
namespace {

FitOptions changed(FitOptions options, const FitChange& change) {
  if (change.batch_size) options.batch_size = change.batch_size;
  return options;
}

}  // namespace

FitTrials::FitTrials(Model& model, SourcePtr data, const FitOptions& options, const Budget& budget)
    : model_(model), data_(std::move(data)), options_(options), budget_(budget) {
  {
    const FitPlan plan = unlimited();
    fastest_bytes_ = plan.asked_bytes;
    batch_size_ = plan.batch_size;
    largest_part_ = plan.largest_part();
  }
  forget_tries(budget_);
  first_bytes_ = budget_.added_bytes();
  are_counted_ = true;
}

FitPlan FitTrials::unlimited(const FitChange& change) {
  forget_tries(budget_);
  Compiled& compiled = change.compiled != nullptr ? *change.compiled : model_.compiled();
  FitPlan plan =
      plan_fit(model_, compiled, data_, changed(options_, change), without_limit(budget_)).plan;
  measure_kernels(plan, budget_);
  return plan;
}

std::optional<FitPlan> FitTrials::at(int64_t bytes, const FitChange& change) {
  Budget budget = budget_;
  budget.bytes = bytes;
  forget_tries(budget);
  // What trials have left behind (blocks that stand between others, what is known of a step) is
  // not the fit's.
  if (are_counted_) budget.before_bytes += budget_.added_bytes() - first_bytes_;
  Compiled& compiled = change.compiled != nullptr ? *change.compiled : model_.compiled();
  return try_fit(model_, compiled, data_, changed(options_, change), budget);
}

std::optional<FitPlan> FitTrials::within(int64_t bytes, const FitChange& change) {
  // What is less by the share of chance that is added to it: of 100 parts, not of 101.
  std::optional<FitPlan> plan = at(bytes - chance_bytes(budget_, bytes - bytes / 101), change);
  if (plan) plan->budget_bytes = bytes;
  return plan;
}

// What the smallest plan takes with its kernels. The planner knows what a step lacks: each try adds
// what the one before has missed.
int64_t FitTrials::least_planned(int64_t missing_bytes) {
  Budget tried = budget_;
  tried.bytes += missing_bytes;
  tried.reserve_bytes = 0;  // Estimated: what it takes is measured when it is planned.
  while (tried.bytes < fastest_bytes_) {
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
  return fastest_bytes_;
}

// Planning itself takes what it takes, and other plans have other kernels: so budgets are tried,
// from that of the smallest plan on, in steps that double, up until one works or down until one
// does not; then between the two.
int64_t FitTrials::least(int64_t missing_bytes, double seconds_for_it) {
  const int64_t planned = least_planned(missing_bytes);
  int64_t works = 0, fails = budget_.bytes, step = planned / 256;
  const auto can_be_lower = [&] { return works - fails > works / 1024; };
  bool is_between = false;
  for (int64_t tried = planned; works == 0 || can_be_lower();) {
    const bool is_enough = at(tried).has_value();
    is_between = is_between || (is_enough ? fails > budget_.bytes : works > 0);
    (is_enough ? works : fails) = tried;
    if (seconds() > seconds_for_it) break;
    if (is_between)
      tried = fails + (works - fails) / 2;
    else
      tried = std::max(fails + 1, tried + (is_enough ? -1 : 1) * std::exchange(step, 2 * step));
  }
  // Out of time before one has worked: with what was still missing, and as much again.
  if (works == 0 && at(fails + 2 * step)) works = fails + 2 * step;
  if (works == 0) works = fastest_that_works();
  if (works > fastest_bytes_) works = std::min(works, fastest_that_works());
  return works + chance_bytes(budget_, works);
}

// Where all fits without a search; what is measured later may take a little more than was planned.
int64_t FitTrials::fastest_that_works() {
  const int64_t most = without_limit(budget_).bytes;
  int64_t tried = fastest_bytes_ + fastest_bytes_ / 64;
  for (int64_t more = fastest_bytes_ / 64; !at(tried); more += more / 4) {
    SNUG_CHECK(tried < most, "nothing is enough for what fits without a limit");
    tried += more;
  }
  return tried;
}

std::vector<CurvePoint> FitTrials::curve(int points) {
  constexpr double kForLeast = 10;
  const int64_t low = least(0, kForLeast);
  const int64_t fastest = fastest_that_works();
  const int64_t high = std::max(low, fastest + chance_bytes(budget_, fastest));
  std::vector<CurvePoint> curve;
  for (int i = 0; i < points; ++i) {
    const int64_t bytes = low + (high - low) * i / std::max(1, points - 1);
    if (!curve.empty() && bytes == curve.back().budget_bytes) continue;
    const std::optional<FitPlan> plan = within(bytes);
    if (!plan) continue;
    curve.push_back(plan->training->point());
    curve.back().budget_bytes = bytes;
  }
  return curve;
}

double FitTrials::seconds() const {
  return static_cast<double>(std::clock() - start_) / CLOCKS_PER_SEC;
}

}  // namespace snug
