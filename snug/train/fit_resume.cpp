// How a fit begins, saves itself and goes on: the parts of FitRun that checkpoints need.

#include <algorithm>
#include <set>

#include "snug/base/error.h"
#include "snug/base/log.h"
#include "snug/base/threads.h"
#include "snug/train/fit.h"

namespace snug {

// Before planning, for the checkpoint knows what decides the bits.
void FitRun::open_checkpoints() {
  for (const CallbackPtr& callback : callbacks_) {
    const std::optional<CheckpointOptions> options = callback->checkpoints();
    if (!options) continue;
    options_.checkpoint = *options;
    options_.resume = true;
  }
  if (!options_.checkpoint.is_on()) {
    throw Error("fit: resume needs to know where the checkpoints are; give checkpoint.directory");
  }
  checkpoints_.emplace(options_.checkpoint);
  checkpoints_->choose(options_.resume);
  if (!checkpoints_->resumes()) return;
  FitMachine saved;
  checkpoints_->read_part({"machine", [&](StateVisitor& visitor) { saved.visit(visitor); }});
  if (options_.threads == 0) options_.threads = saved.threads;
}

void FitRun::set_checkpoint(const CheckpointOptions& options) {
  options_.checkpoint = options;
  if (options.is_on() && !checkpoints_) open_checkpoints();
}

FitMachine FitRun::machine() const {
  return {.seed = options_.seed,
          .batch_size = batch_size_,
          .rows = training_rows_.count.value_or(-1),
          .shuffle = options_.shuffle,
          .threads = options_.threads > 0 ? options_.threads : hardware_threads(),
          .instruction_set = instruction_set(),
          // Every cut gives the same bits, on any number of threads.
          .partition = options_.reproducible ? "reproducible" : partition_of(*plan_.training)};
}

// Once, before the first pass: rows are read into the arena, which holds nothing yet.
void FitRun::look_at_data(bool resumes) {
  if (looked_at_) return;
  const std::span<std::byte> memory{arena_.data(), arena_.bytes()};
  looked_at_.emplace();
  looked_at_->training = training_->data_print(plan_.training->step(), memory, resumes);
  if (validation_)
    looked_at_->validation = validation_->data_print(plan_.validation->step(), memory, resumes);
}

void FitRun::visit_data(StateVisitor& visitor) const {
  FitData visited = *looked_at_;
  visited.visit(visitor);
  if (!visitor.reads()) return;
  looked_at_->compare(visited, training_->source(), validation_ ? &validation_->source() : nullptr);
}

// Variables of other metrics and of other optimizers may have the same names and types, and another
// meaning.
void FitRun::visit_compiled(StateVisitor& visitor) const {
  Compiled& compiled = model_.compiled();
  const std::string optimizer(compiled.optimizer()->class_name());
  std::string metrics;
  for (const MetricPtr& metric : compiled.phase(true, {}).all())
    metrics += (metrics.empty() ? "" : ", ") + metric->name;
  const auto visit = [&](const char* name, const char* what, const std::string& here) {
    std::string there = here;
    visitor.visit(name, there);
    if (there == here) return;
    throw Error(
        "resume: the {} is {}, but the checkpoint is of a run with {}; it is of another {}: give "
        "the same, or start anew without resume",
        what, here, there, what);
  };
  visit("optimizer", "optimizer", optimizer);
  visit("metrics", "list of metrics", metrics);
}

// A position in one order says nothing about another one: rows would come twice, or never.
void FitRun::visit_order(StateVisitor& visitor) const {
  const std::string here = data_->order();
  std::string there = here;
  visitor.visit("order", there);
  if (there == here) return;
  const auto named = [](const std::string& order) {
    return order.empty() ? std::string("no windows") : order;
  };
  throw Error(
      "resume: rows are shuffled in {}, but the checkpoint is of a run with {}; give the same "
      "shuffle and the budget of then (windows of `shuffle: blocks` are smaller where it is "
      "small), "
      "or start anew without resume",
      named(here), named(there));
}

// What checkpoints speak of and what others keep.
void FitRun::bring_up_to_date() {
  // A batch that was not committed comes again.
  // A run that is resumed at its end takes none, and stays where it was.
  if (takes_batches_) place_ = in_step_ ? training_->batch_place() : training_->place();
  was_configured_rate_ = configured_rate_;
  rate_ = fixed_rate(model_.compiled().optimizer());
  if (history_.epoch.size() != history_view_.epochs()) history_view_.take(history_);
}

void FitRun::visit_logs(StateVisitor& visitor) {
  visitor.reads() ? visit_history(history_, visitor) : history_view_.write(visitor);
}

void FitRun::visit_progress(StateVisitor& visitor) {
  visitor.visit("epoch", epoch_);
  visitor.visit("step", step_);
  visitor.visit("in_epoch", in_epoch_);
  visitor.visit("trained", trained_);
  visitor.visit("steps", steps_);
  visitor.visit("pass", pass_);
  visitor.visit("in_pass", in_pass_);
  visitor.visit("place.pass", place_.pass);
  visitor.visit("place.position", place_.position);
  visitor.visit("stops", model_.stop_training);
}

// A rate that callbacks may have set; a schedule knows its own. The one that was configured is what
// the optimizer had at the start: where it has been changed since, the change counts.
void FitRun::visit_rates(StateVisitor& visitor) {
  visitor.visit("configured_rate", was_configured_rate_);
  visitor.visit("learning_rate", rate_);
  const Optimizer& optimizer = model_.compiled().optimizer();
  if (!visitor.reads() || optimizer->common().learning_rate.schedule()) return;
  if (was_configured_rate_ == configured_rate_) return optimizer->set_learning_rate(rate_);
  log_message(LogLevel::info, "The learning rate is {:.6g} from now on; it was {:.6g}",
              configured_rate_, rate_);
}

// For people: what the run is described by now counts.
void FitRun::visit_description(StateVisitor& visitor) const {
  std::string text = description_;
  visitor.visit("file", text);
}

// Without checkpoints it goes as it came.
void FitRun::save_stopped() { was_saved_ = checkpoints_ && checkpoints_->save(steps_); }

namespace {

void visit_machine(const FitMachine& machine, StateVisitor& visitor) {
  FitMachine visited = machine;
  visited.visit(visitor);
  if (visitor.reads()) machine.compare(visited);
}

void add_variables(std::vector<CheckpointVariable>& to, const std::string& group,
                   const Variables& variables) {
  for (size_t i = 0; i < variables.size(); ++i) {
    to.push_back({fmt::format("{}/{}/{}", group, i, variables[i]->name()), variables[i]->tensor()});
  }
}

// A checkpoint knows weights by their names.
void add_weights(std::vector<CheckpointVariable>& to, const Variables& weights) {
  std::set<std::string_view> names;
  for (const VariablePtr& weight : weights) {
    if (!names.insert(weight->path()).second)
      throw Error(
          "fit: two weights are called {}, and a checkpoint knows them by their names; give each "
          "weight of a layer its own `name`",
          weight->path());
    to.push_back({"weights/" + weight->path(), weight->tensor()});
  }
}

}  // namespace

RunContents FitRun::contents() {
  using Changes = StatePart::Changes;
  Compiled& compiled = model_.compiled();
  RunContents all;
  all.parts = {{"progress", [this](StateVisitor& v) { visit_progress(v); }, Changes::in_place},
               {"machine", [machine = machine()](StateVisitor& v) { visit_machine(machine, v); },
                Changes::never},
               {"compiled", [this](StateVisitor& v) { visit_compiled(v); }, Changes::never, true},
               {"order", [this](StateVisitor& v) { visit_order(v); }, Changes::never, true},
               {"data", [this](StateVisitor& v) { visit_data(v); }, Changes::never, true},
               {"guard", [this](StateVisitor& v) { guard_->state(v); }, Changes::in_place},
               {"history", [this](StateVisitor& v) { visit_logs(v); }, Changes::at_epochs},
               {"run", [this](StateVisitor& v) { visit_description(v); }, Changes::never}};
  if (best_) {
    all.parts.push_back({"best", [this](StateVisitor& v) { best_->state(v); }, Changes::in_place});
    all.best_is_lost = [this] { best_->give_back(); };
  }
  for (size_t i = 0; i < callbacks_.size(); ++i) {
    all.parts.push_back({fmt::format("callback.{}", i),
                         [callback = callbacks_[i]](StateVisitor& v) { callback->state(v); }});
  }
  // The last of them: it is the model's, which stays as it is where another part is refused.
  all.parts.push_back(
      {"optimizer", [this](StateVisitor& v) { visit_rates(v); }, Changes::in_place});
  all.bring_up_to_date = [this] { bring_up_to_date(); };
  add_weights(all.variables, model_.weights());
  add_variables(all.variables, "optimizer", compiled.slots());
  add_variables(all.variables, "metrics", compiled.phase(true, {}).state());
  return all;
}

void FitRun::begin() {
  // A second run starts again, as a second fit does.
  epoch_ = options_.initial_epoch;
  step_ = steps_made_ = 0;
  in_epoch_ = trained_ = was_interrupted_ = was_saved_ = false;
  if (checkpoints_) checkpoints_->finish_writing();
  history_ = {};
  if (options_.checkpoint.is_on() && !checkpoints_) open_checkpoints();
  const bool resumes = checkpoints_ && checkpoints_->resumes();
  const RunParameters params{.epochs = options_.epochs,
                             .steps = steps_of_epoch(),
                             .verbose = options_.verbose,
                             .validates = validation_.has_value(),
                             .resumed = resumes,
                             .last_step = &last_step_};
  for (const CallbackPtr& callback : callbacks_) {
    callback->set_model(model_);
    callback->set_params(params);
  }
  model_.stop_training = false;
  for (const CallbackPtr& callback : callbacks_) callback->on_train_begin();
  if (!checkpoints_) return;
  if (!options_.checkpoint.best.empty()) best_.emplace(options_.checkpoint, model_, params);
  if (data_->access() == Access::once) {
    log_message(LogLevel::warning,
                "this source cannot go back to a row: a run that is resumed goes on with whatever "
                "it gives next; give the generator a `restart` to resume with the same rows");
  }
  look_at_data(resumes);
  if (resumes) {
    checkpoints_->load(contents());
    takes_batches_ = false;
    if (in_epoch_ || in_pass_) training_->wind(place_, *plan_.training);
    if (in_epoch_ && !options_.steps_per_epoch && training_->can_wind())
      step_ = (place_.position + batch_size_ - 1) / batch_size_;
  }
  history_view_ = {};
  history_view_.take(history_);
  checkpoints_->start(contents(), steps_, plan_.save_bytes > 0 ? machine().threads : 0);
}

bool FitRun::is_interrupted() {
  if (!options_.interrupted || !options_.interrupted()) return false;
  was_interrupted_ = true;
  save_stopped();
  return true;
}

void FitRun::after_step() {
  if (is_interrupted() || !checkpoints_) return;
  checkpoints_->after_step(steps_);
}

void FitRun::after_epoch(int epoch, const Logs& logs) {
  epoch_ = epoch + 1;
  step_ = 0;
  in_epoch_ = trained_ = false;
  if (!checkpoints_) return;
  checkpoints_->settle_best();
  checkpoints_->after_epoch(epoch, steps_, best_ && best_->take(logs));
}

}  // namespace snug
