#include "snug/train/fit.h"

#include <algorithm>
#include <cmath>

#include "snug/base/error.h"
#include "snug/base/log.h"
#include "snug/base/memory.h"
#include "snug/base/threads.h"
#include "snug/train/progress.h"

namespace snug {

Budget make_budget(int64_t memory, bool whole_process) {
  Budget budget;
  budget.resident_bytes = resident_bytes();
  if (whole_process) budget.process_bytes = budget.resident_bytes;
  // What a run adds beside its plan: pages of code that are touched for the first time, stacks,
  // compiled kernels. A fit measures it before its first step.
  budget.reserve_bytes = 4_MiB;
  budget.bytes =
      memory > 0 ? memory : budget.process_bytes + available_memory().default_budget_bytes();
  return budget;
}

FitRun::FitRun(Model& model, const SourcePtr& data, const FitOptions& options)
    : model_(model), data_(data), options_(options), callbacks_(options.callbacks) {
  check_options();
  fit_network_to(model.network(), *data);
  model.network().set_paths();
  split_rows();
  plan_steps();
  bind();
}

FitRun::~FitRun() = default;

void FitRun::check_options() const {
  if (options_.batch_size && *options_.batch_size < 1) {
    throw Error("fit: batch_size is {}; it must be 1 or more", *options_.batch_size);
  }
  if (options_.validation_split < 0 || options_.validation_split >= 1) {
    throw Error("fit: validation_split is {}; it must be from 0 up to, but not, 1",
                options_.validation_split);
  }
  if (options_.epochs < 0 || options_.initial_epoch < 0) {
    throw Error("fit: epochs is {} and initial_epoch {}; neither may be negative", options_.epochs,
                options_.initial_epoch);
  }
  if (options_.steps_per_epoch && *options_.steps_per_epoch < 1) {
    throw Error("fit: steps_per_epoch is {}; it must be 1 or more", *options_.steps_per_epoch);
  }
  if (options_.validation_freq.empty() || std::ranges::min(options_.validation_freq) < 1) {
    throw Error("fit: validation_freq must be 1 or more");
  }
  const bool weighted = std::ranges::any_of(
      data_->fields(), [](const Field& f) { return f.role == FieldRole::weight; });
  if (weighted && !options_.class_weight.empty()) {
    throw Error("fit: class_weight and sample weights were both given; give one of them");
  }
  if (data_->access() != Access::random && !options_.class_weight.empty()) {
    throw Error(
        "fit: class_weight is not supported for generators; let the generator give weights");
  }
}

void FitRun::split_rows() {
  const std::optional<int64_t> rows = data_->rows();
  if (rows && *rows == 0) throw DataError("fit: the data has no rows");
  training_rows_.count = rows;
  if (options_.validation_split > 0 && !options_.validation_data) {
    if (!rows || data_->access() != Access::random) {
      throw Error(
          "fit: validation_split needs rows that can be numbered; give validation_data for a "
          "generator");
    }
    const auto at = static_cast<int64_t>(
        std::floor(static_cast<double>(*rows) * (1 - options_.validation_split)));
    if (at == 0 || at == *rows) {
      throw Error(
          "fit: validation_split {} leaves {} of {} rows for training; both sides need rows",
          options_.validation_split, at, *rows);
    }
    training_rows_.count = at;
  }
  const int64_t steps = options_.steps_per_epoch.value_or(0);
  batch_size_ = options_.batch_size.value_or(
      steps > 0 && rows ? (*training_rows_.count + steps - 1) / steps : 32);
  if (rows) batch_size_ = std::min(batch_size_, *training_rows_.count);
}

void FitRun::plan_steps() {
  Compiled& compiled = model_.compiled();
  const bool weighted =
      !options_.class_weight.empty() || std::ranges::any_of(data_->fields(), [](const Field& f) {
        return f.role == FieldRole::weight;
      });
  training_.emplace(data_,
                    StagerOptions{.range = training_rows_,
                                  .batch_size = batch_size_,
                                  .shuffle = options_.shuffle && data_->access() == Access::random,
                                  .seed = options_.seed,
                                  .class_weight = options_.class_weight});
  budget_ = make_budget(options_.memory, options_.whole_process);
  const Budget& budget = budget_;
  const Target target{.threads = options_.threads > 0 ? options_.threads : hardware_threads()};
  int64_t held = 0;
  for (const CallbackPtr& callback : callbacks_)
    held += static_cast<int64_t>(callback->held_bytes(model_));
  RunnerOptions runner{.target = target, .budget_bytes = budget.for_step() - held};
  StepGraph step =
      training_step(model_.network(), compiled, target_types(*data_, model_.network(), weighted));
  runner.borrow_inputs = training_->can_borrow(step);
  plan_ = {.batch_size = batch_size_,
           .callback_bytes = held,
           .process_bytes = budget.process_bytes,
           .reserve_bytes = budget.reserve_bytes,
           .budget_bytes = budget.bytes};
  plan_.training = std::make_shared<Runner>(std::move(step), training_->batch_rows(), runner);

  const bool splits = training_rows_.count != data_->rows();
  if (options_.validation_data || splits) {
    const SourcePtr source = options_.validation_data ? options_.validation_data : data_;
    RowRange rows;
    if (splits)
      rows = {.first = *training_rows_.count, .count = *data_->rows() - *training_rows_.count};
    const int64_t batch = options_.validation_batch_size.value_or(batch_size_);
    const int64_t available = rows.count.value_or(source->rows().value_or(batch));
    validation_.emplace(source,
                        StagerOptions{.range = rows, .batch_size = std::min(batch, available)});
    const bool has_weights = std::ranges::any_of(
        source->fields(), [](const Field& f) { return f.role == FieldRole::weight; });
    StepGraph check = evaluation_step(model_.network(), compiled,
                                      target_types(*source, model_.network(), has_weights));
    runner.borrow_inputs = validation_->can_borrow(check);
    plan_.validation =
        std::make_shared<Runner>(std::move(check), validation_->batch_rows(), runner);
  }
  plan_.arena_bytes = static_cast<int64_t>(plan_.training->arena_bytes());
  if (plan_.validation) {
    plan_.arena_bytes =
        std::max(plan_.arena_bytes, static_cast<int64_t>(plan_.validation->arena_bytes()));
  }
  plan_.weight_bytes = static_cast<int64_t>(allocation_bytes(model_.weights()));
  plan_.slot_bytes = static_cast<int64_t>(allocation_bytes(compiled.slots()));
}

void FitRun::bind() {
  Compiled& compiled = model_.compiled();
  model_.ensure_weights(options_.seed);
  allocate(compiled.slots(), options_.seed);
  for (Runner* runner : {plan_.training.get(), plan_.validation.get()}) {
    if (runner == nullptr) continue;
    Variables state;
    for (const auto& [variable, value] : runner->step().variables) state.push_back(variable);
    allocate(state, options_.seed);
  }
  arena_ = Arena(static_cast<size_t>(plan_.arena_bytes));
  arena_.touch();
  for (Runner* runner : {plan_.training.get(), plan_.validation.get()}) {
    if (runner != nullptr) runner->bind(arena_.data());
  }
  warm_up();
}

// Runs every program once without committing anything: what the process adds while it runs (pages
// of code, compiled kernels, stacks of threads) is resident from now on, so it can be measured
// instead of guessed, and a run that would pass its budget is refused before its first step.
void FitRun::warm_up() {
  training_->warm_up(*plan_.training);
  if (validation_) validation_->warm_up(*plan_.validation);
  constexpr int64_t kMargin = 512_KiB;
  const int64_t added = resident_bytes() - budget_.resident_bytes + kMargin;
  const int64_t counted = budget_.process_bytes + added;
  plan_.reserve_bytes += std::max(counted - plan_.total_bytes(), -plan_.reserve_bytes);
  if (plan_.total_bytes() > plan_.budget_bytes) {
    throw BudgetError(
        "fit: the process needs {} with its compiled kernels and stacks, but the budget is {}; "
        "give "
        "at least that much",
        bytes_text(plan_.total_bytes(), Rounding::up), bytes_text(plan_.budget_bytes));
  }
}

std::optional<int64_t> FitRun::steps_of_epoch() const {
  const std::optional<int64_t> batches = training_->batches();
  if (!options_.steps_per_epoch) return batches;
  return batches ? std::min(*batches, *options_.steps_per_epoch) : *options_.steps_per_epoch;
}

History FitRun::run(bool ends) {
  History history;
  Progress progress(options_.verbose, options_.epochs, steps_of_epoch());
  for (const CallbackPtr& callback : callbacks_) {
    callback->set_model(model_);
    callback->set_params({.epochs = options_.epochs,
                          .steps = steps_of_epoch(),
                          .verbose = options_.verbose,
                          .validates = validation_.has_value()});
  }
  model_.stop_training = false;
  Logs logs;
  for (const CallbackPtr& callback : callbacks_) callback->on_train_begin();
  for (int epoch = options_.initial_epoch; epoch < options_.epochs && !model_.stop_training;
       ++epoch) {
    logs.clear();
    progress.begin_epoch(epoch);
    for (const CallbackPtr& callback : callbacks_) callback->on_epoch_begin(epoch);
    run_epoch(epoch, logs, progress);
    if (validates_after(epoch)) validate_epoch(logs);
    for (const CallbackPtr& callback : callbacks_) callback->on_epoch_end(epoch, logs);
    // After the callbacks, as in Keras: the line shows what they added.
    progress.end_epoch(logs);
    history.add(epoch, logs);
  }
  if (ends) finish();
  for (const CallbackPtr& callback : callbacks_) callback->on_train_end(logs);
  return history;
}

void FitRun::run_epoch(int epoch, Logs& logs, Progress& progress) {
  Compiled::Phase& phase = model_.compiled().phase(true, {});
  phase.reset();
  const bool batch_logs =
      std::ranges::any_of(callbacks_, [](const CallbackPtr& c) { return c->wants_batch_logs(); });
  // With steps_per_epoch the pass goes on where the epoch before left it.
  if (!in_pass_ || !options_.steps_per_epoch) {
    training_->begin_pass(options_.steps_per_epoch ? pass_++ : static_cast<uint64_t>(epoch));
    in_pass_ = true;
  }
  const int64_t most = options_.steps_per_epoch.value_or(INT64_MAX);
  int64_t done = 0;
  for (; done < most && !model_.stop_training; ++done) {
    const std::optional<Stager::Batch> batch = training_->next(*plan_.training);
    if (!batch) break;
    for (const CallbackPtr& callback : callbacks_) callback->on_train_batch_begin(done);
    train_batch(*batch);
    const bool shows = progress.is_due();
    Logs now;
    if (shows || batch_logs) now = phase.logs();
    for (const CallbackPtr& callback : callbacks_) callback->on_train_batch_end(done, now);
    if (shows) progress.update(done + 1, now);
  }
  progress.steps_done(done);
  if (done < most || training_->is_at_end()) in_pass_ = false;
  const bool ran_out = options_.steps_per_epoch && done < most && !model_.stop_training;
  if (ran_out) {
    log_message(LogLevel::warning,
                "the data ran out after {} of {} steps of epoch {}; it needs steps_per_epoch * "
                "epochs batches",
                done, most, epoch + 1);
    if (data_->access() != Access::random) model_.stop_training = true;
  }
  if (done == 0 && !ran_out) throw DataError("fit: the source gave no rows in epoch {}", epoch + 1);
  logs = phase.logs();
}

void FitRun::train_batch(const Stager::Batch& batch) {
  feed_learning_rates(plan_.training->step(), *batch.program);
  batch.program->compute(batch.info);
  batch.program->commit(batch.info);
}

bool FitRun::validates_after(int epoch) const {
  if (!validation_) return false;
  if (options_.validation_freq.size() == 1) return (epoch + 1) % options_.validation_freq[0] == 0;
  return std::ranges::count(options_.validation_freq, epoch + 1) > 0;
}

void FitRun::validate_epoch(Logs& logs) {
  Compiled::Phase& phase = model_.compiled().phase(false, {});
  phase.reset();
  for (const CallbackPtr& callback : callbacks_) callback->on_test_begin();
  validation_->begin_pass(0);
  const int64_t most = options_.validation_steps.value_or(INT64_MAX);
  for (int64_t done = 0; done < most; ++done) {
    const std::optional<Stager::Batch> batch = validation_->next(*plan_.validation);
    if (!batch) break;
    for (const CallbackPtr& callback : callbacks_) callback->on_test_batch_begin(done);
    batch->program->run(batch->info);
    for (const CallbackPtr& callback : callbacks_) callback->on_test_batch_end(done, {});
  }
  const Logs values = phase.logs();
  for (const CallbackPtr& callback : callbacks_) callback->on_test_end(values);
  for (const auto& [name, value] : values) logs["val_" + name] = value;
}

// With averages kept, the model ends with them, as in Keras.
void FitRun::finish() { model_.compiled().optimizer_state().finalize(); }

void feed_learning_rates(const StepGraph& step, Program& program) {
  for (const StepUpdate& update : step.updates)
    program.tensor(update.nodes.learning_rate).as<float>()[0] = update.state.learning_rate();
}

}  // namespace snug
