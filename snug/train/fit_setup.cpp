#include "snug/train/fit_setup.h"

#include <algorithm>
#include <cmath>

#include "snug/base/error.h"
#include "snug/base/memory.h"
#include "snug/base/threads.h"
#include "snug/data/shared_source.h"
#include "snug/train/fit.h"
#include "snug/train/lint.h"
#include "snug/train/room.h"
#include "snug/train/state_copy.h"

namespace snug {
namespace {

bool has_weights(const Source& data) {
  return std::ranges::any_of(data.fields(),
                             [](const Field& f) { return f.role == FieldRole::weight; });
}

void check_options(const Source& data, const FitOptions& options) {
  const auto expect_some = [](const char* name, const std::optional<int64_t>& value) {
    if (value && *value < 1) throw Error("fit: {} is {}; it must be 1 or more", name, *value);
  };
  expect_some("batch_size", options.batch_size);
  expect_some("validation_batch_size", options.validation_batch_size);
  expect_some("steps_per_epoch", options.steps_per_epoch);
  expect_some("validation_steps", options.validation_steps);
  const bool is_share = options.validation_split >= 0 && options.validation_split < 1;  // Not NaN.
  if (!is_share) {
    throw Error("fit: validation_split is {}; it must be from 0 up to, but not, 1",
                options.validation_split);
  }
  if (options.epochs < 0 || options.initial_epoch < 0) {
    throw Error("fit: epochs is {} and initial_epoch {}; neither may be negative", options.epochs,
                options.initial_epoch);
  }
  options.validation_freq.check();
  if (options.validation_data && options.validation_data->rows() == 0) {
    throw DataError("fit: validation_data has no rows; give some, or none of it");
  }
  options.guard.check();
  for (const auto& [label, weight] : options.class_weight) {
    if (!std::isfinite(weight))
      throw Error("fit: class_weight of class {} is {}; it must be a number", label, weight);
    if (weight < 0)
      throw Error(
          "fit: class_weight of class {} is {}, which would raise its loss; it must be 0 or more",
          label, weight);
  }
  if (has_weights(data) && !options.class_weight.empty()) {
    throw Error("fit: class_weight and sample weights were both given; give one of them");
  }
  const auto outputs = std::ranges::count(data.fields(), FieldRole::target, &Field::role);
  if (outputs > 1 && !options.class_weight.empty()) {
    throw Error(
        "fit: class_weight is for a model with one output, but there are targets for {}; give "
        "sample weights instead",
        outputs);
  }
  if (data.access() != Access::random && !options.class_weight.empty()) {
    throw Error(
        "fit: class_weight is not supported for generators; let the generator give weights");
  }
}

// A row has one class: one number, or a one-hot row of them.
void check_class_weight(const Source& data, const Type& target) {
  const bool is_label = target.dtype == DType::int32;
  if (is_label ? target.shape.size_per_row() == 1 : target.shape.rank() <= 2) return;
  const auto field = std::ranges::find(data.fields(), FieldRole::target, &Field::role);
  throw Error(
      "fit: class_weight weighs a row by its class, but a row of {} has the shape {}, with a class "
      "for each step; give a sample weight for each step instead",
      field->name, field->row.text());
}

// The rows to train on: without the last of them, where those are for validation.
RowRange training_rows_of(const Source& data, const FitOptions& options) {
  const std::optional<int64_t> rows = data.rows();
  if (rows && *rows == 0)
    throw DataError("fit: the data has no rows: {}; give some", data.fields()[0].name);
  if (options.validation_split == 0 || options.validation_data) return {.count = rows};
  if (!rows || data.access() != Access::random) {
    throw Error(
        "fit: validation_split needs rows that can be numbered; give validation_data for a "
        "generator");
  }
  if (data.reorders()) {
    throw Error(
        "fit: validation_split is {}, but the data has its rows in another order in each epoch, so "
        "rows would be validated with after they were trained on; give validation_data, split "
        "before it is shuffled (data::split), or let fit shuffle",
        options.validation_split);
  }
  const int64_t at = first_validation_row(*rows, options.validation_split);
  if (at == 0 || at == *rows) {
    throw Error(
        "fit: validation_split {} leaves {} of {} rows for training; both sides need rows: "
        "give another share, or more rows",
        options.validation_split, at, *rows);
  }
  return {.count = at};
}

int64_t batch_size_of(const std::optional<int64_t>& rows, const FitOptions& options) {
  const int64_t steps = options.steps_per_epoch.value_or(0);
  const int64_t size =
      options.batch_size.value_or(steps > 0 && rows ? (*rows + steps - 1) / steps : 32);
  return rows ? std::min(size, *rows) : size;
}

// The variables of a step that are neither weights nor slots: what its metrics keep.
Variables metrics_of(const StepGraph& step, const Variables& others) {
  Variables metrics;
  for (const auto& [variable, value] : step.variables) {
    if (std::ranges::find(others, variable) == others.end()) metrics.push_back(variable);
  }
  return metrics;
}

// One way from options to a plan; its parts share what they find.
class FitPlanner {
 public:
  FitPlanner(Model& model, Compiled& compiled, const SourcePtr& data, const FitOptions& options,
             bool is_trial)
      : model_(model), compiled_(compiled), data_(data), options_(options), is_trial_(is_trial) {
    check_options(*data, options);
    const bool was_defined = model.network().is_defined();
    fit_network_to(model.network(), *data);
    // What compile could not see.
    if (!was_defined) lint(model.network(), compiled.options());
    model.network().set_paths();
    setup_.training_rows = training_rows_of(*data, options);
    // Training and validation read the same source then, ahead of their steps.
    if (setup_.training_rows.count != data->rows()) data_ = data::shared(data);
    setup_.batch_size = batch_size_of(setup_.training_rows.count, options);
  }

  FitSetup plan(Budget budget) {
    wanted_ = budget.wanted;
    StepGraph training = training_graph();
    std::optional<StepGraph> validation = validation_graph();
    if (budget.reserve_bytes == 0) budget.reserve_bytes = estimated_reserve(*training.graph);
    count(budget, training, validation);
    count_ahead(budget, training, validation);
    const int64_t arena_bytes = budget.bytes - setup_.plan.needed_bytes();
    setup_.plan.training = make_runner(std::move(training), *setup_.training, arena_bytes);
    setup_.plan.arena_bytes = static_cast<int64_t>(setup_.plan.training->arena_bytes());
    if (validation) {
      setup_.plan.validation = make_runner(std::move(*validation), *setup_.validation, arena_bytes);
      setup_.plan.arena_bytes = std::max(
          setup_.plan.arena_bytes, static_cast<int64_t>(setup_.plan.validation->arena_bytes()));
    }
    if (wanted_ != Wanted::smallest) widen_ahead();
    const int64_t copy_bytes = bytes_to_save_beside();
    if (setup_.plan.needed_bytes() + copy_bytes <= budget.bytes)
      setup_.plan.save_bytes = copy_bytes;
    return std::move(setup_);
  }

  // What it cannot pass, without a plan.
  int64_t most(const Budget& budget) {
    const StepGraph training = training_graph();
    const std::optional<StepGraph> validation = validation_graph();
    count(budget, training, validation);
    int64_t bytes = setup_.plan.needed_bytes() + most_bytes(training, *setup_.training);
    if (validation) bytes += most_bytes(*validation, *setup_.validation);
    return bytes + bytes / kPartAhead;
  }

 private:
  static constexpr int64_t kPartAhead = 64;  // Of a budget: for rows that are read ahead.

  StepGraph training_graph() {
    setup_.training.emplace(
        data_, StagerOptions{.range = setup_.training_rows,
                             .batch_size = setup_.batch_size,
                             .shuffle = options_.shuffle && data_->access() == Access::random,
                             .seed = options_.seed,
                             .class_weight = options_.class_weight});
    const bool weighted = !options_.class_weight.empty() || has_weights(*data_);
    const TargetTypes targets = target_types(*data_, model_.network(), weighted);
    if (!options_.class_weight.empty())
      check_class_weight(*data_, compiled_.loss(0)->target_type(model_.network().output_types()[0],
                                                                targets.target_rows[0]));
    StepGraph step = training_step(model_.network(), compiled_, targets);
    step.guarded = options_.guard.policy != GuardOptions::Policy::off;
    return step;
  }

  std::optional<StepGraph> validation_graph() {
    const bool splits = setup_.training_rows.count != data_->rows();
    if (!options_.validation_data && !splits) return std::nullopt;
    const SourcePtr source = options_.validation_data ? options_.validation_data : data_;
    if (options_.validation_data) fit_network_to(model_.network(), *source);
    RowRange rows;
    if (splits) {
      const int64_t first = *setup_.training_rows.count;
      rows = {.first = first, .count = *data_->rows() - first};
    }
    const int64_t batch = options_.validation_batch_size.value_or(setup_.batch_size);
    const int64_t available = rows.count.value_or(source->rows().value_or(batch));
    setup_.validation.emplace(
        source, StagerOptions{.range = rows, .batch_size = std::min(batch, available)});
    return evaluation_step(model_.network(), compiled_,
                           target_types(*source, model_.network(), has_weights(*source)));
  }

  CheckpointOptions checkpoint_options() const {
    CheckpointOptions checkpoint = options_.checkpoint;
    for (const CallbackPtr& callback : options_.callbacks)
      checkpoint = callback->checkpoints().value_or(checkpoint);
    return checkpoint;
  }
  bool saves() const { return checkpoint_options().is_on(); }

  // A copy of all that a checkpoint holds, and the writer's stack; 0 where nothing is saved.
  int64_t bytes_to_save_beside() const {
    constexpr int64_t kWriter = 128_KiB;
    const CheckpointOptions checkpoint = checkpoint_options();
    if (!checkpoint.is_on() || !checkpoint.beside) return 0;
    Variables saved = model_.weights();
    saved.insert(saved.end(), compiled_.slots().begin(), compiled_.slots().end());
    const Variables metrics = metrics_of(setup_.plan.training->step(), saved);
    saved.insert(saved.end(), metrics.begin(), metrics.end());
    return StateCopy::bytes_for(saved) + kWriter;
  }

  // All but the arena.
  void count(const Budget& budget, const StepGraph& training,
             const std::optional<StepGraph>& validation) {
    FitPlan& plan = setup_.plan;
    plan.batch_size = setup_.batch_size;
    plan.budget_bytes = budget.bytes;
    plan.process_bytes = budget.process_bytes;
    plan.reserve_bytes = budget.reserve_bytes;
    plan.kernel_bytes = budget.kernel_bytes;
    Variables state = model_.weights();
    plan.weight_bytes = static_cast<int64_t>(state_bytes(state));
    plan.slot_bytes = static_cast<int64_t>(state_bytes(compiled_.slots()));
    state.insert(state.end(), compiled_.slots().begin(), compiled_.slots().end());
    const Variables metrics = metrics_of(training, state);
    plan.metric_bytes = static_cast<int64_t>(state_bytes(metrics));
    if (validation)
      plan.metric_bytes += static_cast<int64_t>(state_bytes(metrics_of(*validation, state)));
    count_callbacks(state.size() + metrics.size());
    plan.callback_bytes += FitGuard::held_bytes(training, options_.guard);
    plan.source_bytes = static_cast<int64_t>(data_->buffer_bytes());
    if (options_.validation_data)
      plan.source_bytes += static_cast<int64_t>(options_.validation_data->buffer_bytes());
  }

  // `saved` variables are in a checkpoint, beside what callbacks give it.
  void count_callbacks(size_t saved) {
    size_t held = 0, passing = 0;
    for (const CallbackPtr& callback : options_.callbacks) {
      held += callback->held_bytes(model_);
      passing = std::max(passing, callback->passing_bytes(model_));
      saved += callback->arrays_of_state(model_);
    }
    const int64_t history = history_bytes(compiled_, options_.epochs - options_.initial_epoch);
    setup_.plan.callback_bytes += static_cast<int64_t>(held + passing) + history;
    // A checkpoint holds all of it, too, and a list of what it saves.
    if (saves())
      setup_.plan.callback_bytes += history + static_cast<int64_t>(saved) * kListedVariable;
  }

  int threads() const { return options_.threads > 0 ? options_.threads : hardware_threads(); }

  // A small part of the budget is for rows that are read while a step runs, whatever else there is.
  void count_ahead(const Budget& budget, const StepGraph& training,
                   const std::optional<StepGraph>& validation) {
    const auto options = [&](const Stager& stager, const StepGraph& step, int64_t& worthwhile) {
      worthwhile = stager.worthwhile_bytes(step);
      return stager.ahead_options(step, std::min(worthwhile, budget.bytes / kPartAhead), threads());
    };
    if (setup_.training->can_read_ahead())
      setup_.training_ahead = options(*setup_.training, training, worthwhile_[0]);
    if (validation && setup_.validation->can_read_ahead())
      setup_.validation_ahead = options(*setup_.validation, *validation, worthwhile_[1]);
    setup_.plan.ahead_bytes = ahead_bytes();
  }

  int64_t ahead_bytes() const {
    size_t bytes = 0;
    if (setup_.training_ahead)
      bytes += ReadAhead::needed_bytes(setup_.training->source(), *setup_.training_ahead);
    if (setup_.validation_ahead)
      bytes += ReadAhead::needed_bytes(setup_.validation->source(), *setup_.validation_ahead);
    return static_cast<int64_t>(bytes);
  }

  // More of them where the plan leaves room: half of it, for the rest is only an estimate yet.
  void widen_ahead() {
    const auto widen = [&](std::optional<ReadAheadOptions>& ahead, int64_t worthwhile) {
      if (!ahead) return;
      const int64_t left = setup_.plan.budget_bytes - setup_.plan.needed_bytes() - 4_MiB;
      const auto now = static_cast<int64_t>(ahead->bytes);
      if (left <= 0 || now >= worthwhile) return;
      ahead->bytes = static_cast<size_t>(std::min(worthwhile, now + left / 2));
      setup_.plan.ahead_bytes = ahead_bytes();
    };
    widen(setup_.training_ahead, worthwhile_[0]);
    widen(setup_.validation_ahead, worthwhile_[1]);
  }

  std::shared_ptr<Runner> make_runner(StepGraph step, const Stager& stager,
                                      int64_t arena_bytes) const {
    RunnerOptions runner{.target = {.threads = threads()},
                         .borrow_inputs = stager.can_borrow(step),
                         .feed_inputs = stager.can_feed(),
                         .reproducible = options_.reproducible,
                         .budget_bytes = arena_bytes,
                         .wanted = wanted_,
                         .spare_rows = stager.spare_rows(),
                         .measures = !is_trial_};
    if (!step.updates.empty()) {
      runner.spill_file = options_.spill;
      runner.spill = spill_limits(runner.spill_file);
    }
    // A runner counts the variables of its own step.
    for (const auto& [variable, value] : step.variables)
      runner.budget_bytes += static_cast<int64_t>(variable->type().bytes());
    return std::make_shared<Runner>(std::move(step), stager.batch_rows(), runner);
  }

  Model& model_;
  Compiled& compiled_;
  SourcePtr data_;
  const FitOptions& options_;
  bool is_trial_;
  Wanted wanted_ = Wanted::fastest;
  FitSetup setup_;
  int64_t worthwhile_[2] = {};  // Bytes for rows read ahead, of training and validation.
};

// Fields without rows to read.
class DescribedRows final : public Source {
 public:
  DescribedRows(std::vector<Field> fields, int64_t rows)
      : fields_(std::move(fields)), rows_(rows) {}

  const std::vector<Field>& fields() const override { return fields_; }
  std::optional<int64_t> rows() const override { return rows_; }
  Access access() const override { return Access::random; }
  void read(int /*field*/, std::span<const int64_t> /*rows*/, const Tensor& /*slot*/) override {
    throw InternalError("rows that are only described were read");
  }
  int64_t next(int64_t /*count*/, std::span<const Tensor> /*slots*/) override { return 0; }
  void restart() override {}

 private:
  std::vector<Field> fields_;
  int64_t rows_;
};

}  // namespace

FitSetup plan_fit(Model& model, Compiled& compiled, const SourcePtr& data,
                  const FitOptions& options, const Budget& budget, bool is_trial) {
  return planned_in_room(
      budget, [&] { return FitPlanner(model, compiled, data, options, is_trial).plan(budget); });
}

int64_t most_bytes(Model& model, const SourcePtr& data, const FitOptions& options, Budget budget) {
  return FitPlanner(model, model.compiled(), data, options, /*is_trial=*/true).most(budget);
}

SourcePtr described_rows(const Network& network, const std::vector<Shape>& target_rows,
                         int64_t rows) {
  std::vector<Field> fields;
  const auto stored = [](DType dtype) {
    return dtype == DType::float32 ? StoredType::float32 : StoredType::int32;
  };
  for (const Type& type : network.input_types()) {
    fields.push_back({.name = field_name("x", fields.size(), network.input_types().size()),
                      .stored = stored(type.dtype),
                      .row = type.shape.part(1, type.shape.rank())});
  }
  for (const Shape& row : target_rows)
    fields.push_back({.name = "y", .role = FieldRole::target, .row = row});
  return std::make_shared<DescribedRows>(std::move(fields), rows);
}

int64_t first_validation_row(int64_t rows, double validation_split) {
  return static_cast<int64_t>(std::floor(static_cast<double>(rows) * (1 - validation_split)));
}

}  // namespace snug
