#include "snug/train/fit.h"

#include <algorithm>

#include "snug/base/bytes.h"
#include "snug/base/error.h"
#include "snug/base/log.h"
#include "snug/train/progress.h"
#include "snug/train/step_cache.h"

namespace snug {
namespace {

// For the progress line: what a step moves to the disk and back.
std::string disk_note(const FitPlan& plan) {
  const SpilledBytes bytes = plan.spilled_bytes();
  if (bytes.written == 0) return "";
  return fmt::format(" - disk: {}/step", bytes_text(bytes.written + bytes.read));
}

// However a run ends: the rate that its callbacks leave behind is not what the user gave.
class RateScope {
 public:
  explicit RateScope(Compiled& compiled)
      : compiled_(compiled), use_(compiled), configured_(compiled.configured_rate()) {}
  ~RateScope() { compiled_.end_run(configured_); }
  RateScope(const RateScope&) = delete;
  RateScope& operator=(const RateScope&) = delete;

  double configured() const { return configured_; }

 private:
  Compiled& compiled_;
  Compiled::Use use_;
  double configured_;
};

// What callbacks of a fit with a budget may take for passes of their own: what it leaves, with what
// they have told the plan that they take.
class LeftScope {
 public:
  LeftScope(Compiled& compiled, const std::optional<int64_t>& left)
      : compiled_(compiled), around_(compiled.left_bytes()) {
    compiled_.set_left_bytes(left);
    if (left) nothing_kept_.emplace();
  }
  ~LeftScope() { compiled_.set_left_bytes(around_); }
  LeftScope(const LeftScope&) = delete;
  LeftScope& operator=(const LeftScope&) = delete;

 private:
  Compiled& compiled_;
  std::optional<int64_t> around_;  // Of a fit that this one runs in a callback of.
  std::optional<NothingKept> nothing_kept_;
};

bool any_wants_logs(const std::vector<CallbackPtr>& callbacks) {
  return std::ranges::any_of(callbacks, [](const CallbackPtr& c) { return c->wants_batch_logs(); });
}

}  // namespace

FitRun::FitRun(Model& model, const SourcePtr& data, const FitOptions& options, bool of_many)
    : model_(model),
      hold_(model.one_thread(), of_many ? "train_on_batch" : "fit"),
      data_(data),
      options_(options),
      of_many_(of_many),
      callbacks_(options.callbacks),
      epoch_(options.initial_epoch) {
  if (options_.resume || std::ranges::any_of(callbacks_, [](const CallbackPtr& c) {
        return c->checkpoints().has_value();
      }))
    open_checkpoints();
  if (!of_many_ || !take_step()) start();
}

FitRun::~FitRun() = default;

std::optional<int64_t> FitRun::steps_of_epoch() const {
  const std::optional<int64_t> batches = training_->batches();
  if (!options_.steps_per_epoch) return batches;
  return batches ? std::min(*batches, *options_.steps_per_epoch) : *options_.steps_per_epoch;
}

std::optional<int64_t> FitRun::left_bytes() const {
  if (options_.memory == 0) return std::nullopt;
  size_t passing = 0;
  for (const CallbackPtr& callback : callbacks_)
    passing = std::max(passing, callback->passing_bytes(model_));
  // A pass counts the weights, which are the fit's already.
  return plan_.budget_bytes - plan_.needed_bytes() + plan_.weight_bytes +
         static_cast<int64_t>(passing);
}

History FitRun::run(bool ends) {
  Progress progress(options_.verbose, options_.epochs, steps_of_epoch(), disk_note(plan_));
  const RateScope rate(model_.compiled());
  const LeftScope left(model_.compiled(), left_bytes());
  configured_rate_ = rate.configured();
  begin();
  has_begun_ = true;
  if (begun_) begun_();
  guard_->forget_variables();
  Logs last;
  // One that has begun comes to its end, though it may have been stopped when it was interrupted.
  for (int epoch = epoch_; epoch < options_.epochs && (in_epoch_ || !model_.stop_training);
       ++epoch) {
    Logs logs;
    bool goes_on = true;
    progress.begin_epoch(epoch);
    if (!in_epoch_) {
      for (const CallbackPtr& callback : callbacks_) callback->on_epoch_begin(epoch);
    }
    try {
      goes_on = run_epoch(epoch, logs, progress);
      if (goes_on && !was_interrupted_ && validates_after(epoch)) validate_epoch(epoch, logs);
    } catch (const NumericsError&) {
      save_stopped();
      throw;
    } catch (const DataError&) {
      // The row may be mended: the batch comes again.
      save_stopped();
      throw;
    } catch (const FileError&) {
      // So may the file, but a step may be half done where it is not the source's.
      if (!in_step_) save_stopped();
      throw;
    }
    if (was_interrupted_) return std::move(history_);
    if (checkpoints_) checkpoints_->take_back();
    // Without a step it was no epoch: who saves or counts epochs would take it for one.
    if (!goes_on) break;
    for (const CallbackPtr& callback : callbacks_) callback->on_epoch_end(epoch, logs);
    if (!callbacks_.empty()) guard_->forget_variables();
    // After the callbacks, as in Keras: the line shows what they added.
    progress.end_epoch(logs);
    if (checkpoints_ && HistoryView::may_move(history_, options_.epochs))
      checkpoints_->finish_writing();
    history_.add(epoch, logs, options_.epochs);
    after_epoch(epoch, logs);
    if (is_interrupted()) return std::move(history_);
    last = std::move(logs);
  }
  guard_->end_run();
  if (checkpoints_) checkpoints_->finish(steps_);
  if (ends) finish();
  for (const CallbackPtr& callback : callbacks_) callback->on_train_end(last);
  return std::move(history_);
}

// False where there was nothing to train on any more.
bool FitRun::run_epoch(int epoch, Logs& logs, Progress& progress) {
  Compiled::Phase& phase = model_.compiled().phase(true, {});
  const bool resumed = in_epoch_;
  if (!resumed) phase.reset();
  // With steps_per_epoch the pass goes on where the epoch before left it.
  if (!resumed && (!in_pass_ || !options_.steps_per_epoch)) {
    training_->begin_pass(options_.steps_per_epoch ? pass_++
                                                   : pass_ + static_cast<uint64_t>(epoch));
    in_pass_ = true;
  }
  guard_->begin_epoch(resumed);
  in_epoch_ = true;
  if (trained_) {
    // One that was stopped behind its last step has no more, and its verdict behind it.
    progress.steps_done(step_);
  } else {
    run_steps(epoch, progress);
    if (was_interrupted_) return true;
    if (in_epoch_) guard_->end_epoch(epoch);
  }
  logs = phase.logs();
  return in_epoch_;
}

// Nullopt: its numbers are bad, and a callback ends the run there.
std::optional<FitGuard::Outcome> FitRun::run_batch(const Stager::Batch& batch, int epoch,
                                                   int64_t step) {
  try {
    return guard_->run(batch, *training_, epoch, step);
  } catch (const NumericsError& error) {
    const bool stops = options_.guard.policy == GuardOptions::Policy::stop;
    if (!stops || !std::ranges::any_of(callbacks_, [](const CallbackPtr& callback) {
          return callback->ends_on_bad_step();
        }))
      throw;
    log_message(LogLevel::warning, "{}. The run ends here, as TerminateOnNaN has it", error.what());
    return std::nullopt;
  }
}

void FitRun::run_steps(int epoch, Progress& progress) {
  Compiled::Phase& phase = model_.compiled().phase(true, {});
  const bool batch_logs = any_wants_logs(callbacks_);
  takes_batches_ = true;
  const int64_t most = options_.steps_per_epoch.value_or(INT64_MAX);
  int64_t done = step_;
  bool is_bad = false;
  // An epoch has a step, or it would have no loss.
  for (; done < most && (done == 0 || !model_.stop_training); ++done) {
    in_step_ = false;
    const std::optional<Stager::Batch> batch = training_->next(*plan_.training);
    if (!batch) break;
    in_step_ = true;
    for (const CallbackPtr& callback : callbacks_) callback->on_train_batch_begin(done);
    const std::optional<FitGuard::Outcome> outcome = run_batch(*batch, epoch, done);
    if (!outcome) {
      is_bad = model_.stop_training = true;
      break;
    }
    if (outcome == FitGuard::Outcome::rolled_back) {
      step_ = guard_->rollback_step();
      done = step_ - 1;
      continue;
    }
    // Whatever a callback throws now, this batch does not come again.
    in_step_ = false;
    step_ = done + 1;
    ++steps_;
    ++steps_made_;
    last_step_ = {.gradient_norm = guard_->gradient_norm(),
                  .skipped_rows = outcome == FitGuard::Outcome::skipped ? batch->rows : 0};
    const bool shows = progress.is_due();
    Logs now;
    if (shows || batch_logs) now = phase.logs();
    for (const CallbackPtr& callback : callbacks_) callback->on_train_batch_end(done, now);
    if (shows) progress.update(done + 1, now);
    after_step();
    if (was_interrupted_) return;
  }
  in_step_ = false;
  progress.steps_done(done);
  // Stopped before its first step: no epoch, or it would have no loss.
  if (done == 0 && is_bad)
    in_epoch_ = false;
  else
    end_steps(epoch, done);
}

void FitRun::end_steps(int epoch, int64_t done) {
  const int64_t most = options_.steps_per_epoch.value_or(INT64_MAX);
  if (done < most || training_->is_at_end()) in_pass_ = false;
  const bool ran_out = options_.steps_per_epoch && done < most && !model_.stop_training;
  if (ran_out) {
    log_message(LogLevel::warning,
                "the data ran out after {} of {} steps of epoch {}; it needs steps_per_epoch * "
                "epochs batches",
                done, most, epoch + 1);
    if (data_->access() != Access::random) model_.stop_training = true;
  }
  if (done == 0 && ran_out && steps_ > 0) {
    in_epoch_ = false;
    return;
  }
  if (done == 0)
    throw no_rows(fmt::format("fit: the source gave no rows in epoch {}", epoch + 1), *data_);
  if (done > 0 && guard_->has_skipped_all()) {
    // Some batches are no pass over the data: the next ones may be good. How many may be skipped in
    // a row has a limit.
    if (options_.steps_per_epoch) {
      log_message(LogLevel::warning,
                  "every batch of epoch {} was skipped, so it has no loss; training goes on with "
                  "the next epoch",
                  epoch + 1);
      trained_ = true;
      return;
    }
    in_epoch_ = false;  // It begins again when the run goes on.
    step_ = 0;
    throw NumericsError(
        "fit: every batch of epoch {} was skipped, so nothing of it was trained and it has no "
        "loss. The model is as after the epoch before; mend what the warnings name, or lower the "
        "learning rate",
        epoch + 1);
  }
  trained_ = true;
}

bool FitRun::validates_after(int epoch) const {
  return validation_ && options_.validation_freq.includes(epoch);
}

void FitRun::validate_epoch(int epoch, Logs& logs) {
  Compiled::Phase& phase = model_.compiled().phase(false, {});
  for (const CallbackPtr& callback : callbacks_) callback->on_test_begin();
  phase.reset();
  const bool batch_logs = any_wants_logs(callbacks_);
  validation_->begin_pass(0);
  const int64_t most = options_.validation_steps.value_or(INT64_MAX);
  int64_t done = 0;
  for (; done < most; ++done) {
    const std::optional<Stager::Batch> batch = validation_->next(*plan_.validation);
    if (!batch) break;
    for (const CallbackPtr& callback : callbacks_) callback->on_test_batch_begin(done);
    batch->program->run(batch->info);
    const Logs now = batch_logs ? phase.logs() : Logs();
    for (const CallbackPtr& callback : callbacks_) callback->on_test_batch_end(done, now);
    if (is_interrupted()) return;  // A run that goes on validates again.
  }
  if (done == 0) {
    throw no_rows(fmt::format("fit: validation_data gave no rows in epoch {}", epoch + 1),
                  validation_->source());
  }
  const Logs values = phase.logs();
  for (const CallbackPtr& callback : callbacks_) callback->on_test_end(values);
  for (const auto& [name, value] : values) logs["val_" + name] = value;
}

// With averages kept, the model ends with them, as in Keras.
void FitRun::finish() { model_.compiled().optimizer_state().finalize(); }

void feed_learning_rates(const StepGraph& step, Program& program, double factor) {
  for (const StepUpdate& update : step.updates) {
    const float rate = update.state.learning_rate();
    program.tensor(update.nodes.learning_rate).as<float>()[0] =
        factor == 1 ? rate : static_cast<float>(rate * factor);
  }
}

}  // namespace snug
