#include "snug/train/fit_guard.h"

#include <algorithm>
#include <cmath>

#include "snug/base/error.h"
#include "snug/base/log.h"
#include "snug/train/fit.h"
#include "snug/train/guard_report.h"

namespace snug {
namespace {

using Policy = GuardOptions::Policy;

std::vector<Divergence::Weight> watched_weights(const StepGraph& step) {
  std::vector<Divergence::Weight> weights;
  if (step.updates.empty()) return weights;
  const Node& node = *step.updates[0].nodes.reach.producer();
  for (const ops::UpdatePlace& place : ops::update_layout(node.op())->places) {
    const Value weight = node.input(place.weight);
    weights.push_back({weight.name(), weight.shape().rank() >= 2});
  }
  return weights;
}

}  // namespace

void GuardOptions::check() const {
  const auto expect = [](const char* name, double value, bool holds, const char* wanted) {
    if (!holds) throw Error("guard: {} is {}; it must be {}", name, value, wanted);
  };
  const auto count = [&](const char* name, int64_t value, int64_t least) {
    expect(name, static_cast<double>(value), value >= least,
           least == 0 ? "0 or more" : "1 or more");
  };
  count("most_skips_in_a_row", most_skips_in_a_row, 0);
  count("most_skips", most_skips, 0);
  count("most_rollbacks", most_rollbacks, 0);
  count("rollback_steps", rollback_steps, 1);
  expect("rollback_rate", rollback_rate, rollback_rate > 0 && rollback_rate <= 1,
         "above 0 and at most 1");
  expect("most_gradient", most_gradient, most_gradient > 0, "above 0");
  expect("most_loss", most_loss, most_loss > 1, "above 1");
}

int64_t FitGuard::held_bytes(const StepGraph& step, const GuardOptions& options) {
  if (options.policy != Policy::rollback) return 0;
  int64_t bytes = 0;
  for (const auto& [variable, value] : step.variables)
    bytes += static_cast<int64_t>(variable->type().bytes());
  return bytes;
}

FitGuard::FitGuard(const Compiled& compiled, Runner& runner, const GuardOptions& options)
    : runner_(runner),
      options_(options),
      guard_(runner, options),
      trivial_(compiled, runner.step()),
      divergence_(watched_weights(runner.step()), options.most_loss),
      dead_units_(runner.step()) {
  for (const auto& [variable, value] : runner.step().variables) variables_.push_back(variable);
}

void FitGuard::begin_epoch(bool resumed) {
  copy_step_ = -1;
  if (!resumed) divergence_.begin_epoch();
  dead_units_.begin_epoch();
}

void FitGuard::end_epoch(int epoch) {
  if (options_.policy == Policy::off) return;
  dead_units_.end_epoch(epoch);
  if (const auto stop = divergence_.end_epoch(epoch)) throw NumericsError("fit: {}", *stop);
}

void FitGuard::end_run() const {
  if (options_.policy != Policy::off) divergence_.end_run();
}

void FitGuard::keep_copy(const Stager& stager, int64_t step) {
  if (options_.policy != Policy::rollback) return;
  if (copy_step_ >= 0 && step - copy_step_ < options_.rollback_steps) return;
  copy_.take(variables_);
  copy_step_ = step;
  copy_place_ = stager.batch_place();
}

FitGuard::Outcome FitGuard::run(const Stager::Batch& batch, Stager& stager, int epoch,
                                int64_t step) {
  keep_copy(stager, step);
  feed_learning_rates(runner_.step(), *batch.program, rate_factor_);
  if (options_.policy == Policy::off) {
    batch.program->run(batch.info);
    return Outcome::committed;
  }
  // Before compute, which may use the slots for other values.
  trivial_.look(*batch.program);
  batch.program->compute(batch.info);
  if (const std::optional<GuardFinding> finding = guard_.check(*batch.program)) {
    const std::string report =
        guard_report(*finding, *batch.program,
                     {.info = batch.info,
                      .rows = stager.row_numbers(),
                      .place = [&](int64_t row) { return stager.row_place(row); },
                      .epoch = epoch,
                      .step = step,
                      .learning_rate = guard_.learning_rate(),
                      .gradient_norm = guard_.gradient_norm(),
                      .policy = options_.policy});
    if (options_.policy == Policy::skip) return skip(report);
    if (options_.policy == Policy::rollback) return roll_back(report, stager, step);
    throw NumericsError("fit: {}", report);
  }
  dead_units_.look(*batch.program, step);
  batch.program->commit(batch.info);
  guard_.committed(*batch.program);
  skips_in_a_row_ = 0;
  trivial_.add();
  watch(batch);
  return Outcome::committed;
}

void FitGuard::watch(const Stager::Batch& batch) {
  const double loss = batch.program->tensor(runner_.step().loss).as<float>()[0];
  // A model may be worse than a constant where the run finds it: it is not blamed for its first
  // loss.
  if (first_loss_ == kNoLoss) first_loss_ = loss;
  divergence_.set_reference(std::max(trivial_.loss(), first_loss_));
  divergence_.step(loss, guard_.gradient_norm(), guard_.square_norms());
}

FitGuard::Outcome FitGuard::skip(const std::string& report) {
  ++skips_;
  ++skips_in_a_row_;
  if (skips_in_a_row_ > options_.most_skips_in_a_row || skips_ > options_.most_skips) {
    throw NumericsError(
        "fit: {}. It was the {}. bad batch in a row and the {}. of the run, more than the guard "
        "may "
        "skip ({} in a row, {} in all)",
        report, skips_in_a_row_, skips_, options_.most_skips_in_a_row, options_.most_skips);
  }
  log_message(LogLevel::warning, "skipped a batch: {}", report);
  return Outcome::skipped;
}

FitGuard::Outcome FitGuard::roll_back(const std::string& report, Stager& stager, int64_t step) {
  if (++rollbacks_ > options_.most_rollbacks) {
    throw NumericsError("fit: {}. The run was rolled back {} times before, which did not help",
                        report, options_.most_rollbacks);
  }
  rate_factor_ *= options_.rollback_rate;
  copy_.give_back(variables_);
  guard_.forget_variables();
  const bool winds = stager.can_wind();
  if (winds) stager.wind(copy_place_, runner_);
  log_message(LogLevel::warning,
              "{}. Rolled back {} steps, {}; the learning rate is multiplied by {:.3g} from now on",
              report, step - copy_step_,
              winds ? "rows included" : "but the rows of this source go on", rate_factor_);
  if (!winds) copy_step_ = step;
  return Outcome::rolled_back;
}

void FitGuard::state(StateVisitor& visitor) {
  visitor.visit("skips", skips_);
  visitor.visit("skips_in_a_row", skips_in_a_row_);
  visitor.visit("rollbacks", rollbacks_);
  visitor.visit("rate_factor", rate_factor_);
  visitor.visit("first_loss", first_loss_);
  trivial_.state(visitor);
  divergence_.state(visitor);
  dead_units_.state(visitor);
}

}  // namespace snug
