#include "snug/train/fit_trials.h"

#include <algorithm>
#include <utility>

#include "snug/base/bytes.h"
#include "snug/base/memory.h"
#include "snug/plan/planning_deadline.h"
#include "snug/train/room.h"

namespace snug {
namespace {

FitOptions changed(FitOptions options, const FitChange& change) {
  if (change.batch_size) options.batch_size = change.batch_size;
  return options;
}

}  // namespace

FitTrials::FitTrials(Model& model, SourcePtr data, const FitOptions& options, const Budget& budget,
                     std::clock_t begun)
    : model_(model), data_(std::move(data)), options_(options), budget_(budget), begun_(begun) {
  FilePages touched;
  if (budget.whole_process) {
    touched = FilePages::resident();
    const FitPlan first = unlimited();  // Of all runs, where nothing was tried yet.
    start_bytes_.note_first_run();
    touched = touched.plus(FilePages::resident());
  }
  if (budget.whole_process) note_start();
  {
    const FitPlan plan = unlimited();
    fastest_bytes_ = plan.asked_bytes;
    batch_size_ = plan.batch_size;
    fastest_arena_bytes_ = plan.arena_bytes;
    largest_part_ = plan.largest_part();
  }
  if (!budget.whole_process) return;
  learn_first_pages(touched);
  note_start();
}

void FitTrials::note_start() {
  forget_tries(budget_);
  start_bytes_.note();
}

// What of the code only the first of all runs touches: what was resident before any of it was
// tried, and does not come back when all that was done by then is done again. A process that
// begins has it, too.
void FitTrials::learn_first_pages(const FilePages& touched) {
  // Of a large run it is nothing, and to fail once more would take long.
  constexpr int64_t kLarge = 256_MiB;
  constexpr double kToTouch = 0.5;  // Seconds: a search does the same again and again.
  FilePages again = FilePages::resident();
  if (fastest_bytes_ < kLarge) {
    const PlanningDeadline deadline(kToTouch);
    at(budget_.bytes);
    again = again.plus(FilePages::resident());
  }
  const FilePages all = budget_.file_pages.plus(touched.minus(again));
  fastest_bytes_ += all.bytes() - budget_.file_pages.bytes();
  budget_.file_pages = all;
}

Budget FitTrials::begin_trial(int64_t bytes) {
  peak_bytes_ = std::max(peak_bytes_, peak_resident_bytes());
  forget_tries(budget_);
  Budget budget = budget_;
  budget.bytes = bytes;
  budget = start_bytes_.begin(budget);
  budget.bytes -= hidden_bytes_;
  return budget;
}

FitPlan FitTrials::unlimited(const FitChange& change) {
  const Budget budget = begin_trial(without_limit(budget_).bytes);
  Compiled& compiled = change.compiled != nullptr ? *change.compiled : model_.compiled();
  FitPlan plan = plan_fit(model_, compiled, data_, changed(options_, change), budget).plan;
  measure_kernels(plan, budget);
  hidden_bytes_ = start_bytes_.hidden_bytes();
  plan.reserve_bytes += hidden_bytes_;
  plan.asked_bytes += hidden_bytes_;
  return plan;
}

std::optional<FitPlan> FitTrials::at(int64_t bytes, const FitChange& change, Wanted wanted) {
  Budget budget = begin_trial(bytes);
  budget.wanted = wanted;
  Compiled& compiled = change.compiled != nullptr ? *change.compiled : model_.compiled();
  std::optional<FitPlan> plan = try_fit(model_, compiled, data_, changed(options_, change), budget);
  if (!plan) return plan;
  // Where another one was compiled before it, a process that begins has more holes than one that
  // runs at its fastest.
  constexpr int64_t kOfASecondPlan = 96_KiB;
  hidden_bytes_ = start_bytes_.hidden_bytes();
  if (budget.whole_process && plan->arena_bytes < fastest_arena_bytes_)
    hidden_bytes_ += kOfASecondPlan;
  plan->reserve_bytes += hidden_bytes_;
  plan->budget_bytes = bytes;
  return plan->fits_if_saved_in_place() ? std::move(plan) : std::nullopt;
}

// What is less by the share of chance that is added to it: of 100 parts, not of 101.
int64_t FitTrials::without_chance(int64_t bytes) const {
  return bytes - chance_bytes(budget_, bytes - bytes / 101);
}

std::optional<FitPlan> FitTrials::within(int64_t bytes, const FitChange& change, Wanted wanted) {
  std::optional<FitPlan> plan = at(without_chance(bytes), change, wanted);
  if (plan) plan->budget_bytes = bytes;
  return plan;
}

// What the smallest plan takes with its kernels. A search that takes more memory than the fastest
// run is of no use.
int64_t FitTrials::least_planned() {
  Budget tried = begin_trial(fastest_bytes_);
  tried.reserve_bytes = 0;  // Estimated: what it takes is measured when it is planned.
  tried.wanted = Wanted::smallest;
  try {
    FitPlan plan =
        plan_fit(model_, model_.compiled(), data_, options_, tried, /*is_trial=*/true).plan;
    measure_kernels(plan, tried);
    hidden_bytes_ = start_bytes_.hidden_bytes();
    return plan.needed_bytes() - plan.save_bytes + hidden_bytes_;
  } catch (const NoRoomError&) {
    throw;
  } catch (const BudgetError&) {
    return fastest_bytes_;
  }
}

// A process that finds nothing else takes the smallest plan at last; its figures are known soon.
bool FitTrials::is_enough(int64_t bytes) {
  return at(bytes, {}, Wanted::smallest).has_value() || at(bytes).has_value();
}

// Planning itself takes what it takes, and other plans have other kernels: so budgets are tried,
// from that of the smallest plan on, in steps that double, up until one works or down until one
// does not; then between the two.
int64_t FitTrials::least_tried(double seconds_for_it) {
  // What the smallest plan would take, with kernels that are only estimated, may be more than the
  // fastest takes.
  const int64_t planned =
      std::max(budget_.bytes + 1, std::min(least_planned(), without_chance(fastest_bytes_)));
  int64_t works = 0, fails = budget_.bytes, step = planned / 256;
  // Seconds, where nothing has worked yet: of one search, and of all.
  constexpr double kForAny = 60, kForFirst = 8;
  const auto can_be_lower = [&] { return works - fails > works / 1024; };
  bool is_between = false;
  for (int64_t tried = planned; works == 0 || can_be_lower();) {
    // What is broken off has not worked: the figure before it holds.
    const PlanningDeadline deadline(works > 0 ? seconds_for_it - seconds() : kForAny);
    const bool is_enough = this->is_enough(tried);
    is_between = is_between || (is_enough ? fails > budget_.bytes : works > 0);
    (is_enough ? works : fails) = tried;
    // The fastest works, too, but is far above the least: something near it is looked for longer.
    if (seconds() > (works > 0 ? seconds_for_it : kForFirst)) break;
    if (is_between)
      tried = fails + (works - fails) / 2;
    else
      tried = std::max(fails + 1, tried + (is_enough ? -1 : 1) * std::exchange(step, 2 * step));
  }
  // Out of time before one has worked: with what was still missing, and as much again.
  if (works == 0 && at(fails + 2 * step)) works = fails + 2 * step;
  if (works == 0) works = fastest_that_works();
  if (works > without_chance(fastest_bytes_)) works = std::min(works, fastest_that_works());
  return works;
}

// What trials have found of a step is known to the next one, but not to a process that begins:
// where finding it took more than the budget, it is found anew within it.
int64_t FitTrials::enough_to_find(int64_t works) {
  const int64_t peak = std::max(peak_bytes_, peak_resident_bytes());
  const int64_t most = peak + kForRest + kForFirstStep + budget_.kernel_bytes;
  if (!budget_.whole_process || most <= works) return works;
  for (const int64_t more : {int64_t{0}, works / 256, works / 64, (most - works) / 2}) {
    const int64_t tried = works + more;
    if (tried >= most) continue;
    PlanningScope::forget();
    if (at(tried)) return tried;
  }
  return most;
}

int64_t FitTrials::least(double seconds_for_it) {
  int64_t works = 0;
  try {
    works = enough_to_find(least_tried(seconds_for_it));
  } catch (const NoRoomError&) {
    // A smaller plan takes more to be found than the machine has. The fastest was found.
    works = fastest_that_works();
  }
  return works + chance_bytes(budget_, works);
}

// Where all fits without a search; what is measured later may take a little more than was planned.
int64_t FitTrials::fastest_that_works() {
  const int64_t step = fastest_bytes_ / 64;
  int64_t tried = without_chance(fastest_bytes_);
  while (tried < 2 * fastest_bytes_ && !at(tried)) tried += step;
  return tried;
}

std::vector<CurvePoint> FitTrials::curve(int points) {
  constexpr double kForLeast = 10;
  const int64_t low = least(kForLeast);
  const int64_t fastest = fastest_that_works();
  const int64_t high = std::max(low, fastest + chance_bytes(budget_, fastest));
  std::vector<CurvePoint> curve;
  for (int i = 0; i < points; ++i) {
    const int64_t bytes = low + (high - low) * i / std::max(1, points - 1);
    if (!curve.empty() && bytes == curve.back().budget_bytes) continue;
    const std::optional<FitPlan> plan = within(bytes, {}, Wanted::fastest);
    if (!plan) continue;
    curve.push_back(plan->training->point());
    curve.back().budget_bytes = bytes;
  }
  return curve;
}

double FitTrials::seconds() const {
  return static_cast<double>(std::clock() - begun_) / CLOCKS_PER_SEC;
}

}  // namespace snug
