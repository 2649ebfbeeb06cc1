#include "snug/train/forward_plan.h"

#include <algorithm>

#include "snug/base/threads.h"
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
    if (options_.memory == 0) return plan_within(budget_);
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
  // With rows that are read ahead, where they fit in beside it.
  FitSetup plan_within(const Budget& budget) const {
    if (step_.stager->can_read_ahead() && step_.stager->batches() > 1) {
      try {
        return plan_within(budget, /*reads_ahead=*/true);
      } catch (const BudgetError&) {
      }
    }
    return plan_within(budget, /*reads_ahead=*/false);
  }

  FitSetup plan_within(const Budget& budget, bool reads_ahead) const {
    return planned_in_room(budget.whole_process, [&] { return make_plan(budget, reads_ahead); });
  }

  FitSetup make_plan(const Budget& budget, bool reads_ahead) const {
    StepGraph step = step_.build();
    FitSetup setup;
    FitPlan& plan = setup.plan;
    plan.batch_size = step_.stager->batch_rows()[0];
    plan.budget_bytes = budget.bytes;
    plan.process_bytes = budget.process_bytes;
    plan.reserve_bytes = budget.reserve_bytes;
    plan.kernel_bytes = budget.kernel_bytes;
    plan.source_bytes = static_cast<int64_t>(source_.buffer_bytes());
    Variables state;
    for (const auto& [variable, value] : step.variables) state.push_back(variable);
    plan.weight_bytes = static_cast<int64_t>(state_bytes(step_.weights));
    for (const auto& variable : step_.weights) std::erase(state, variable);
    plan.metric_bytes = static_cast<int64_t>(state_bytes(state));
    if (reads_ahead) read_ahead(step, setup);
    // A runner counts the variables of its own step.
    const int64_t left = budget.bytes - plan.needed_bytes();
    plan.validation = make_runner(std::move(step), left + plan.weight_bytes + plan.metric_bytes);
    plan.arena_bytes = static_cast<int64_t>(plan.validation->arena_bytes());
    return setup;
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

  std::shared_ptr<Runner> make_runner(StepGraph step, int64_t bytes) const {
    const RunnerOptions runner{.target = {.threads = threads()},
                               .borrow_inputs = step_.stager->can_borrow(step),
                               .feed_inputs = step_.stager->can_feed(),
                               .reproducible = options_.reproducible,
                               .budget_bytes = bytes,
                               .spare_rows = options_.memory > 0 ? step_.stager->spare_rows() : 0};
    return std::make_shared<Runner>(std::move(step), step_.stager->batch_rows(), runner);
  }

  int threads() const { return options_.threads > 0 ? options_.threads : hardware_threads(); }

  bool works(int64_t bytes) const {
    Budget budget = budget_;
    budget.bytes = bytes;
    forget_tries(budget);
    try {
      compile_within([this](const Budget& tried) { return plan_within(tried); }, budget, nullptr);
      return true;
    } catch (const BudgetError&) {
      return false;
    }
  }

  Refusal refusal() const {
    try {
      return tried_refusal();
    } catch (const BudgetError&) {
      return {.budget_bytes = budget_.bytes};
    }
  }

  Refusal tried_refusal() const {
    forget_tries(budget_);
    FitPlan fastest = plan_within(without_limit(budget_)).plan;
    measure_kernels(fastest, budget_);
    int64_t enough = fastest.asked_bytes, fails = budget_.bytes;
    const std::string largest = fastest.largest_part();
    const int64_t batch_size = fastest.batch_size;
    fastest = {};
    while (!works(enough)) enough += enough / 64;
    while (enough - fails > enough / 128) {
      const int64_t middle = fails + (enough - fails) / 2;
      (works(middle) ? enough : fails) = middle;
    }
    return {.budget_bytes = budget_.bytes,
            .batch_size = batch_size,
            .fastest_bytes = enough,
            .largest_part = largest,
            .least_bytes = enough + chance_bytes(budget_, enough)};
  }

  const ForwardStep& step_;
  const EvaluateOptions& options_;
  Source& source_;
  AloneScope alone_;
  Budget budget_;
};

}  // namespace

FitSetup plan_forward(const ForwardStep& step, const EvaluateOptions& options) {
  return ForwardPlanner(step, options).plan();
}

}  // namespace snug
