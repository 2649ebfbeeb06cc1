#include "snug/train/forward_plan.h"

#include <algorithm>

#include "snug/base/threads.h"
#include "snug/plan/fit_budget.h"
#include "snug/train/progress.h"
#include "snug/train/refusal.h"
#include "snug/train/room.h"

namespace snug {
namespace {

class ForwardPlanner {
 public:
  ForwardPlanner(const ForwardStep& step, const EvaluateOptions& options)
      : step_(step), options_(options), source_(step.stager->source()) {
    const size_t held =
        state_bytes(step.weights) - allocation_bytes(step.weights) + source_.buffer_bytes();
    budget_ = make_budget(options.memory, options.whole_process, static_cast<int64_t>(held));
    if (options.memory > 0) limit_to_machine(budget_);
  }

  FitSetup plan() {
    if (options_.memory == 0) return plan_without_budget();
    const PlanningNotice notice = planning_notice(options_.verbose);
    budget_.reserve_bytes = 0;  // Measured.
    const PlanningScope once;
    try {
      Budget budget = budget_;
      return compile_within([this](const Budget& tried) { return plan_within(tried); }, budget,
                            &alone_);
    } catch (const BudgetError&) {
    }
    throw FitRefused(refusal(), step_.name);
  }

 private:
  FitSetup plan_without_budget() const {
    try {
      return plan_within(budget_);
    } catch (const BudgetError& error) {
      throw BudgetError("{}: {}", step_.name, error.what());
    }
  }

  // With rows that are read ahead, where they fit in beside it.
  FitSetup plan_within(const Budget& budget) const {
    const bool can_read_ahead = step_.stager->can_read_ahead() && step_.stager->batches() > 1;
    if (can_read_ahead && budget.wanted != Wanted::smallest) {
      try {
        return plan_in_room(budget, /*reads_ahead=*/true);
      } catch (const BudgetError&) {
      }
    }
    return plan_in_room(budget, /*reads_ahead=*/false);
  }

  FitSetup plan_in_room(const Budget& budget, bool reads_ahead) const {
    return planned_in_room(budget, [&] { return make_plan(budget, reads_ahead); });
  }

  FitSetup make_plan(const Budget& budget, bool reads_ahead) const {
    StepGraph step = step_.build();
    FitSetup setup;
    FitPlan& plan = setup.plan;
    plan.batch_size = step_.stager->batch_rows()[0];
    plan.budget_bytes = budget.bytes;
    plan.process_bytes = budget.process_bytes;
    plan.reserve_bytes =
        budget.reserve_bytes > 0 ? budget.reserve_bytes : estimated_reserve(*step.graph);
    plan.kernel_bytes = budget.kernel_bytes;
    count_state(step, plan);
    if (reads_ahead) read_ahead(step, setup);
    // A runner counts the variables of its own step.
    const int64_t left = budget.bytes - plan.needed_bytes();
    plan.validation =
        make_runner(std::move(step), left + plan.weight_bytes + plan.metric_bytes, budget.wanted);
    plan.arena_bytes = static_cast<int64_t>(plan.validation->arena_bytes());
    return setup;
  }

  void count_state(const StepGraph& step, FitPlan& plan) const {
    Variables others;
    for (const auto& [variable, value] : step.variables) {
      if (std::ranges::find(step_.weights, variable) == step_.weights.end())
        others.push_back(variable);
    }
    plan.weight_bytes = static_cast<int64_t>(state_bytes(step_.weights));
    plan.metric_bytes = static_cast<int64_t>(state_bytes(others));
    plan.source_bytes = static_cast<int64_t>(source_.buffer_bytes());
  }

  // A small part of what is left is for rows that are read while a step runs.
  void read_ahead(const StepGraph& step, FitSetup& setup) const {
    constexpr int64_t kPart = 64;
    const int64_t left = setup.plan.budget_bytes - setup.plan.needed_bytes();
    const int64_t part = std::min(step_.stager->worthwhile_bytes(step), left / kPart);
    if (part <= 0) return;
    setup.validation_ahead = step_.stager->ahead_options(step, part, threads());
    setup.plan.ahead_bytes =
        static_cast<int64_t>(ReadAhead::needed_bytes(source_, *setup.validation_ahead));
  }

  std::shared_ptr<Runner> make_runner(StepGraph step, int64_t bytes, Wanted wanted) const {
    const RunnerOptions runner{.target = {.threads = threads()},
                               .borrow_inputs = step_.stager->can_borrow(step),
                               .feed_inputs = step_.stager->can_feed(),
                               .reproducible = options_.reproducible,
                               .budget_bytes = bytes,
                               .wanted = wanted,
                               .spare_rows = options_.memory > 0 ? step_.stager->spare_rows() : 0,
                               .measures = !is_trial_};
    return std::make_shared<Runner>(std::move(step), step_.stager->batch_rows(), runner);
  }

  int threads() const { return options_.threads > 0 ? options_.threads : hardware_threads(); }

  bool works(int64_t bytes) {
    forget_tries(budget_);
    Budget budget = budget_;
    budget.bytes = bytes;
    budget = start_.begin(budget);
    budget.bytes -= hidden_bytes_;
    budget.wanted = Wanted::any;
    try {
      const FitSetup setup = compile_within(
          [this](const Budget& tried) { return plan_within(tried); }, budget, nullptr);
      hidden_bytes_ = start_.hidden_bytes();
      return setup.plan.needed_bytes() + hidden_bytes_ <= bytes;
    } catch (const NoRoomError&) {
      throw;
    } catch (const BudgetError&) {
      return false;
    }
  }

  Refusal refusal() {
    int64_t enough_bytes = 0;
    try {
      return tried_refusal();
    } catch (const NoRoomError& error) {
      enough_bytes = error.enough_bytes();
    }
    forget_tries(budget_);
    const ResidentLimit limit(room_of_machine().bytes);
    const StepGraph step = step_.build();
    FitPlan plan{.process_bytes = budget_.process_bytes, .kernel_bytes = budget_.kernel_bytes};
    count_state(step, plan);
    const int64_t most = plan.needed_bytes() + most_bytes(step, *step_.stager);
    return rough_refusal(budget_, enough_bytes > 0 ? std::min(enough_bytes, most) : most);
  }

  Refusal tried_refusal() {
    is_trial_ = true;
    Refusal refusal{.budget_bytes = budget_.bytes};
    {
      forget_tries(budget_);
      const Budget unlimited = without_limit(budget_);
      FitPlan fastest = plan_within(unlimited).plan;
      measure_kernels(fastest, unlimited);
      start_.note_first_run();
      refusal.batch_size = fastest.batch_size;
      refusal.largest_part = fastest.largest_part();
      refusal.fastest_bytes = fastest.asked_bytes;
    }
    forget_tries(budget_);
    start_.note();
    int64_t fails = budget_.bytes, enough = std::max(refusal.fastest_bytes, fails + 1);
    while (!works(enough)) enough += enough / 64;
    while (enough - fails > enough / 128) {
      const int64_t middle = fails + (enough - fails) / 2;
      (works(middle) ? enough : fails) = middle;
    }
    // What trials have found of the step is not known to a process that begins.
    for (PlanningScope::forget(); !works(enough); PlanningScope::forget()) enough += enough / 64;
    // Pages of code that only a first run touches are not learnt here, as for a fit: 0.2 MiB.
    constexpr int64_t kForFirstPages = 3;
    refusal.least_bytes = enough + kForFirstPages * chance_bytes(budget_, enough);
    refusal.machine_bytes = machine_bytes(budget_);
    return refusal;
  }

  const ForwardStep& step_;
  const EvaluateOptions& options_;
  Source& source_;
  AloneScope alone_;
  Budget budget_;
  TrialStart start_;
  bool is_trial_ = false;
  int64_t hidden_bytes_ = 0;  // Of the last trial: the next is planned with as much less.
};

}  // namespace

FitSetup plan_forward(const ForwardStep& step, const EvaluateOptions& options) {
  return ForwardPlanner(step, options).plan();
}

}  // namespace snug
