#include "snug/train/forward_pass.h"

#include <algorithm>
#include <new>

#include "snug/base/bytes.h"
#include "snug/base/error.h"
#include "snug/train/fit.h"
#include "snug/train/forward_plan.h"
#include "snug/train/step_cache.h"
#include "snug/train/step_key.h"

namespace snug {
namespace {

StepGraph forward_step(Model& model, const Source& data, ForwardPass::What what) {
  if (what == ForwardPass::What::predict) return prediction_step(model.network());
  const bool weighted = std::ranges::any_of(
      data.fields(), [](const Field& field) { return field.role == FieldRole::weight; });
  return evaluation_step(model.network(), model.compiled(),
                         target_types(data, model.network(), weighted));
}

}  // namespace

ForwardPass::ForwardPass(Model& model, const SourcePtr& data, const EvaluateOptions& options,
                         What what)
    : model_(model), data_(data), options_(options), what_(what) {
  check_options(*data);
  if (!take_step()) {
    fit_network_to(model.network(), *data);
    model.network().set_paths();
    if (data->rows() != 0) bind();
  }
  for (const CallbackPtr& callback : options_.callbacks) {
    callback->set_model(model);
    callback->set_params({.steps = stager_ ? stager_->batches() : 0, .verbose = options_.verbose});
  }
}

// In a callback of a fit with a budget it is that budget's, unless it was given one of its own.
FitSetup ForwardPass::plan(const ForwardStep& step) {
  const std::optional<int64_t> left =
      model_.is_compiled() ? model_.compiled().left_bytes() : std::nullopt;
  if (!left || options_.memory != 0) return plan_forward(step, options_);
  options_.memory = std::max<int64_t>(*left, 1);
  try {
    return plan_forward(step, options_);
  } catch (const BudgetError& error) {
    throw BudgetError(
        "{}. It was called while a fit runs, whose budget leaves {}; give the fit more memory, or "
        "{} a `memory` of its own",
        error.what(), bytes_text(options_.memory), name());
  }
}

void ForwardPass::bind() {
  const int64_t asked = options_.batch_size.value_or(32);
  stager_.emplace(data_,
                  StagerOptions{.batch_size = std::min(asked, data_->rows().value_or(asked))});
  FitSetup setup = plan({.build = [&] { return forward_step(model_, *data_, what_); },
                         .stager = &*stager_,
                         .weights = model_.weights(),
                         .name = name()});
  key_ = key();  // Before callbacks may change anything.
  plan_ = std::move(setup.plan);
  Runner& runner = *plan_.validation;
  model_.ensure_weights(0);
  Variables variables;
  for (const auto& [variable, value] : runner.step().variables) variables.push_back(variable);
  allocate(variables, 0);
  arena_ = Arena(runner.arena_bytes());
  arena_.touch();
  runner.bind(arena_.data());
  if (setup.validation_ahead) stager_->read_ahead(*setup.validation_ahead);
}

// Nullopt where its step is its own: while a fit runs whose budget it shares, or of a program that
// has one for its whole process.
std::optional<std::string> ForwardPass::key() const {
  const bool is_measured = what_ == What::evaluate;
  const bool shares = model_.is_compiled() && model_.compiled().left_bytes();
  if (shares || options_.whole_process || (is_measured && !model_.is_compiled()) ||
      data_->rows().value_or(0) == 0)
    return std::nullopt;
  const int64_t rows = *data_->rows(), batch = std::min(options_.batch_size.value_or(32), rows);
  return step_key({.what = is_measured ? StepCall::What::evaluate : StepCall::What::predict,
                   .network = &model_.network(),
                   .compiled = is_measured ? &model_.compiled() : nullptr,
                   .source = data_.get(),
                   .rows = Stager(data_, {.batch_size = batch}).batch_rows(),
                   .memory = options_.memory,
                   .threads = options_.threads,
                   .reproducible = options_.reproducible});
}

bool ForwardPass::take_step() {
  key_ = key();
  if (!key_) return false;
  std::optional<BoundStep> step = step_cache().take(model_.network(), *key_);
  if (!step) return false;
  Stager stager(data_, {.batch_size = step->runner().programs().at(0)->rows()});
  if (stager.can_borrow(step->runner().step()) != step->runner().borrows_inputs()) return false;
  stager_.emplace(std::move(stager));
  plan_ = std::move(step->plan);
  arena_ = std::move(step->arena);
  return true;
}

void ForwardPass::keep_step() try {
  if (!key_ || !plan_.validation || key() != key_) return;
  stager_.reset();
  BoundStep step{std::move(plan_), std::move(arena_)};
  if (options_.memory > 0 || BoundStep::is_little(step.bytes(), step.plan.budget_bytes))
    step_cache().put(model_.network(), std::move(*key_), std::move(step));
} catch (const std::bad_alloc&) {
  // What there is no memory for is not kept.
}

void ForwardPass::check_options(const Source& data) const {
  const auto expect_some = [&](const char* option, const std::optional<int64_t>& value) {
    if (value && *value < 1)
      throw Error("{}: {} is {}; it must be 1 or more", name(), option, *value);
  };
  expect_some("batch_size", options_.batch_size);
  expect_some("steps", options_.steps);
  if (what_ == What::evaluate && data.rows() == 0)
    throw DataError("evaluate: the data has no rows to measure; give some");
}

void ForwardPass::run(const Visit& visit) {
  std::optional<NothingKept> nothing_kept;
  if (options_.memory > 0) nothing_kept.emplace();
  for (const CallbackPtr& callback : options_.callbacks)
    what_ == What::evaluate ? callback->on_test_begin() : callback->on_predict_begin();
  if (!stager_) return;
  // After the hook, in which the model may be evaluated too.
  if (what_ == What::evaluate) model_.compiled().phase(false, {}).reset();
  stager_->begin_pass(0);
  int64_t done = 0;
  for (; done < options_.steps.value_or(INT64_MAX); ++done) {
    const std::optional<Stager::Batch> batch = stager_->next(*plan_.validation);
    if (!batch) break;
    begin_batch(done);
    batch->program->run(batch->info);
    visit(plan_.validation->step(), *batch);
    end_batch(done);
  }
  if (done == 0 && what_ == What::evaluate)
    throw no_rows("evaluate: the source gave no rows to measure", stager_->source());
}

void ForwardPass::begin_batch(int64_t batch) const {
  for (const CallbackPtr& callback : options_.callbacks) {
    if (what_ == What::evaluate) callback->on_test_batch_begin(batch);
    if (what_ == What::predict) callback->on_predict_batch_begin(batch);
  }
}

void ForwardPass::end_batch(int64_t batch) const {
  const bool wanted = std::ranges::any_of(
      options_.callbacks, [](const CallbackPtr& callback) { return callback->wants_batch_logs(); });
  Logs logs;
  if (wanted && what_ == What::evaluate) logs = model_.compiled().phase(false, {}).logs();
  for (const CallbackPtr& callback : options_.callbacks) {
    if (what_ == What::evaluate) callback->on_test_batch_end(batch, logs);
    if (what_ == What::predict) callback->on_predict_batch_end(batch);
  }
}

}  // namespace snug
