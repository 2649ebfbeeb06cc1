#include "snug/train/stager.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "snug/base/bytes.h"
#include "snug/base/error.h"
#include "snug/base/log.h"
#include "snug/data/stage.h"
#include "snug/train/id_range.h"
#include "snug/train/label_advice.h"
#include "snug/train/move_blocks.h"

namespace snug {

bool feeds(const Program& program) {
  return std::ranges::any_of(program.problem().values, [](const ProblemValue& value) {
    return value.kind == Kind::input && !value.given;
  });
}

// Where a program's slots stand: looked up once.
struct Stager::Slots {
  const Program* program = nullptr;
  std::vector<Tensor> fields;  // In the order of the source's fields.
  std::vector<Value> values;
  std::vector<std::optional<int64_t>> ids_below;  // Of each field: see id_range.h.
  Tensor weights;                                 // Empty where the step has none.
  Tensor rows;  // The scalar that means divide by; empty where nothing reads it.
  bool borrowed = false;
};

Stager::Stager(SourcePtr source, const StagerOptions& options)
    : source_(std::move(source)), options_(options) {
  if (!options_.range.count) options_.range.count = source_->rows();
  numbers_.resize(options_.batch_size);
}

std::optional<int64_t> Stager::batches() const {
  if (!options_.range.count) return std::nullopt;
  const int64_t count = *options_.range.count;
  return options_.drop_remainder ? count / options_.batch_size
                                 : (count + options_.batch_size - 1) / options_.batch_size;
}

std::vector<int64_t> Stager::batch_rows() const {
  if (!options_.range.count) return {options_.batch_size};
  const int64_t count = *options_.range.count, rest = count % options_.batch_size;
  std::vector<int64_t> rows;
  if (count >= options_.batch_size) rows.push_back(options_.batch_size);
  if (rest != 0 && !options_.drop_remainder) rows.push_back(rest);
  return rows;
}

// The most that it can have: kernels for fewer rows take no more.
int64_t Stager::spare_rows() const {
  return options_.range.count || options_.drop_remainder ? 0 : options_.batch_size - 1;
}

bool Stager::can_borrow(const StepGraph& step) const {
  if (options_.shuffle || source_->access() != Access::random || !options_.class_weight.empty())
    return false;
  size_t input = 0, target = 0;
  for (size_t i = 0; i < source_->fields().size(); ++i) {
    const FieldRole role = source_->fields()[i].role;
    if (role == FieldRole::weight) return false;
    const Values& values = role == FieldRole::input ? step.inputs : step.targets;
    size_t& next = role == FieldRole::input ? input : target;
    if (next >= values.size()) continue;
    const DType dtype = values[next++].dtype();
    if (source_->borrow(static_cast<int>(i), options_.range.first, 1, dtype) == nullptr)
      return false;
  }
  return true;
}

bool Stager::can_read_ahead() const {
  return source_->access() == Access::random && source_->batches_ahead() != 0;
}

ReadAheadOptions Stager::ahead_options(const StepGraph& step, int64_t bytes, int threads) const {
  ReadAheadOptions options{.slots = {},
                           .batch_rows = options_.batch_size,
                           .bytes = static_cast<size_t>(bytes),
                           .threads = threads};
  size_t input = 0, target = 0;
  for (const Field& field : source_->fields()) {
    Value value;
    if (field.role == FieldRole::input && input < step.inputs.size()) value = step.inputs[input++];
    if (field.role == FieldRole::target && target < step.targets.size())
      value = step.targets[target++];
    if (field.role == FieldRole::weight) value = step.weights;
    options.slots.push_back(value ? Type{value.dtype(), field.row} : Type{{}, Shape{0}});
  }
  return options;
}

// Two batches, or a number of small ones; more would not make the step wait less.
int64_t Stager::worthwhile_bytes(const StepGraph& step) const {
  int64_t batch = 0;
  for (const Type& row : ahead_options(step, 0, 1).slots)
    batch += static_cast<int64_t>(row.bytes()) * options_.batch_size;
  const int64_t wished = source_->batches_ahead();
  if (wished > 0) return wished * batch;
  return std::clamp<int64_t>(2 * batch, 256_KiB, 16_MiB);
}

void Stager::read_ahead(const ReadAheadOptions& options) {
  ahead_ = std::make_shared<ReadAhead>(source_, options);
  source_ = ahead_;
}

DataPrint Stager::data_print(const StepGraph& step, std::span<std::byte> memory, bool twice) const {
  return data_print_of(*source_, {.slots = ahead_options(step, 0, 1).slots,
                                  .first = options_.range.first,
                                  .count = options_.range.count.value_or(0),
                                  .memory = memory,
                                  .twice = twice});
}

// Says which rows come next.
void Stager::announce() {
  if (!ahead_) return;
  const int64_t count = *options_.range.count;
  ahead_->announce(
      [first = options_.range.first, order = order_](int64_t position, std::span<int64_t> rows) {
        for (size_t i = 0; i < rows.size(); ++i) {
          const int64_t at = position + static_cast<int64_t>(i);
          rows[i] = first + (order ? (*order)(at) : at);
        }
      },
      position_, options_.drop_remainder ? count - count % options_.batch_size : count);
}

void Stager::warm_up(Runner& runner) {
  for (const auto& program : runner.programs()) {
    const Slots& slots = slots_of(runner, *program);
    for (size_t i = 0; i < slots.fields.size(); ++i) {
      if (!slots.borrowed || !slots.values[i] || slots.fields[i].data != nullptr) continue;
      program->bind_borrowed(slots.values[i],
                             source_->borrow(static_cast<int>(i), options_.range.first,
                                             program->rows(), slots.values[i].dtype()));
    }
    program->compute({});
  }
  if (Program* spare = runner.spare()) spare->compute({});
}

void Stager::begin_pass(uint64_t pass) {
  source_->begin_pass(pass);
  pass_ = pass;
  position_ = batch_first_ = 0;
  order_.reset();
  if (options_.shuffle && options_.range.count)
    order_.emplace(*options_.range.count, options_.seed, pass);
  announce();
}

// A file that cannot be read again must not take the place of what is said of its row.
std::string Stager::row_place(int64_t number) const try {
  const std::string place = source_->place(0, number);
  const std::string name = source_->fields()[0].name + ": ";
  return place.starts_with(name + "row ") ? place.substr(name.size()) : place;
} catch (const Error&) {
  return fmt::format("row {}", number);
}

void Stager::wind(const Place& place, Runner& runner) {
  begin_pass(place.pass);
  if (source_->access() == Access::replay) {
    while (position_ < place.position) {
      if (!next(runner))
        throw DataError("the source ended before row {}, where the run was", place.position);
    }
    if (position_ != place.position) {
      throw Error(
          "the run stands at row {}, which batches of {} rows do not reach; give the batch "
          "size that it had",
          place.position, options_.batch_size);
    }
  }
  position_ = batch_first_ = place.position;
  announce();
}

std::optional<Stager::Batch> Stager::next(Runner& runner) {
  batch_first_ = position_;
  return source_->access() == Access::random ? next_in_order(runner) : next_in_sequence(runner);
}

std::optional<Stager::Batch> Stager::next_in_order(Runner& runner) {
  const int64_t rows = std::min(options_.batch_size, *options_.range.count - position_);
  if (rows <= 0 || (options_.drop_remainder && rows < options_.batch_size)) return std::nullopt;
  for (int64_t i = 0; i < rows; ++i) {
    numbers_[i] = options_.range.first + (order_ ? (*order_)(position_ + i) : position_ + i);
  }
  // A pass that was resumed with another batch size ends with a rest of its own.
  Program& program = runner.program_for(rows);
  const Slots& slots = slots_of(runner, program);
  fill(slots, runner, program, rows);
  const Batch batch{
      .program = &program,
      .rows = rows,
      .info = {
          .seed = options_.seed, .epoch = pass_, .position = static_cast<uint64_t>(position_)}};
  position_ += rows;
  return batch;
}

std::optional<Stager::Batch> Stager::next_in_sequence(Runner& runner) {
  int64_t wanted = options_.batch_size;
  if (options_.range.count) wanted = std::min(wanted, *options_.range.count - position_);
  if (wanted <= 0 || (options_.drop_remainder && wanted < options_.batch_size)) return std::nullopt;
  Program* program = &runner.program(wanted);
  const Slots* slots = &slots_of(runner, *program);
  const int64_t rows = source_->next(wanted, slots->fields);
  if (rows == 0 || (options_.drop_remainder && rows < wanted)) return std::nullopt;
  if (rows < wanted) {
    program = &move_to_short(runner, *slots, rows);
    slots = &slots_of(runner, *program);
  }
  for (int64_t i = 0; i < rows; ++i) numbers_[i] = position_ + i;
  check_rows(*slots, runner.step());
  weigh(*slots);
  if (slots->rows.data != nullptr) slots->rows.as<float>()[0] = static_cast<float>(rows);
  const Batch batch{
      .program = program,
      .rows = rows,
      .info = {
          .seed = options_.seed, .epoch = pass_, .position = static_cast<uint64_t>(position_)}};
  position_ += rows;
  return batch;
}

// The source ended in the middle of a batch, which nobody could know: the rows go to a program that
// is planned for as many. Its slots may lie where theirs are: they all stand in the one arena,
// which holds nothing else between two steps.
Program& Stager::move_to_short(Runner& runner, const Slots& slots, int64_t rows) {
  const std::vector<Tensor> full = slots.fields;
  Program& program = runner.program_for(rows);
  const std::vector<Tensor>& own = slots_of(runner, program).fields;
  std::vector<BlockMove> moves;
  for (size_t i = 0; i < full.size(); ++i) {
    if (full[i].data == nullptr) continue;
    moves.push_back({static_cast<std::byte*>(full[i].data), static_cast<std::byte*>(own[i].data),
                     own[i].bytes()});
  }
  move_blocks(std::move(moves));
  return program;
}

const Stager::Slots& Stager::slots_of(Runner& runner, Program& program) {
  if (std::exchange(bindings_, runner.bindings()) != runner.bindings()) slots_.clear();
  for (const auto& slots : slots_) {
    if (slots->program == &program) return *slots;
  }
  StepGraph& step = runner.step();
  auto slots = std::make_shared<Slots>();
  slots->program = &program;
  size_t input = 0, target = 0;
  for (const Field& field : source_->fields()) {
    Value value;
    if (field.role == FieldRole::input && input < step.inputs.size()) value = step.inputs[input++];
    if (field.role == FieldRole::target && target < step.targets.size())
      value = step.targets[target++];
    if (field.role == FieldRole::weight) value = step.weights;
    slots->values.push_back(value);
    const bool is_input = value && field.role == FieldRole::input;
    slots->ids_below.push_back(is_input ? ids_below(*step.graph, value) : std::nullopt);
    slots->fields.push_back(value ? program.tensor(value) : Tensor{});
  }
  slots->borrowed = can_borrow(step) && !feeds(program);
  if (step.weights) slots->weights = program.tensor(step.weights);
  if (step.tracer->reads_rows()) slots->rows = program.tensor(step.tracer->rows());
  slots_.push_back(std::move(slots));
  return *slots_.back();
}

void Stager::fill(const Slots& slots, Runner& runner, Program& program, int64_t rows) {
  if (slots.borrowed) {
    for (size_t i = 0; i < slots.fields.size(); ++i) {
      if (slots.values[i] && slots.fields[i].data == nullptr)
        lend(static_cast<int>(i), slots.values[i], program, rows);
    }
  }
  source_->read_rows({numbers_.data(), static_cast<size_t>(rows)}, slots.fields);
  check_rows(slots, runner.step());
  weigh(slots);
  if (slots.rows.data != nullptr) slots.rows.as<float>()[0] = static_cast<float>(rows);
  // What has no slot is brought while the step runs.
  program.set_feeder([this, &slots](int input, int64_t first_row, const Tensor& slot) {
    feed(slots, input, first_row, slot);
  });
}

void Stager::feed(const Slots& slots, int input, int64_t first_row, const Tensor& slot) {
  const int64_t rows = slot.type.shape[0];
  for (size_t i = 0; i < slots.values.size(); ++i) {
    if (!slots.values[i] || slots.values[i].id() != input) continue;
    const std::span<const int64_t> numbers{&numbers_[first_row], static_cast<size_t>(rows)};
    source_->read(static_cast<int>(i), numbers, slot);
    return check_ids(slots, i, slot, first_row);
  }
}

// Rows that are read where they stand are checked there.
void Stager::lend(int field, Value value, Program& program, int64_t rows) const {
  const void* memory = source_->borrow(field, numbers_[0], rows, value.dtype());
  program.bind_borrowed(value, memory);
  if (value.dtype() != DType::float32) return;
  const Field& from = source_->fields()[field];
  stage_rows(from, {.row = numbers_[0]}, memory, rows * from.row.size(), const_cast<void*>(memory),
             value.dtype());
}

void Stager::check_ids(const Slots& slots, size_t field, const Tensor& slot,
                       int64_t first_row) const {
  if (!slots.ids_below[field] || slot.data == nullptr) return;
  const int64_t below = *slots.ids_below[field];
  const std::optional<int64_t> bad = first_bad_id(slot, below);
  if (!bad) return;
  const int64_t per_row = std::max<int64_t>(1, source_->fields()[field].row.size());
  const double id =
      slot.type.dtype == DType::int32 ? slot.as<int32_t>()[*bad] : slot.as<float>()[*bad];
  throw DataError(
      "{} has the id {:.0f} in column {}, but an embedding has ids 0 to {}; mend the row, or give "
      "the embedding a larger input_dim",
      source_->place(static_cast<int>(field), numbers_[first_row + *bad / per_row]), id,
      *bad % per_row, below - 1);
}

void Stager::check_rows(const Slots& slots, const StepGraph& step) const {
  for (size_t i = 0; i < slots.fields.size(); ++i) {
    if (slots.ids_below[i]) check_ids(slots, i, slots.program->tensor(slots.values[i]), 0);
  }
  check_labels(slots, step);
}

void Stager::check_labels(const Slots& slots, const StepGraph& step) const {
  size_t target = 0;
  for (size_t i = 0; i < slots.fields.size(); ++i) {
    const Field& field = source_->fields()[i];
    if (field.role != FieldRole::target || target >= step.targets.size()) continue;
    const Value prediction = step.predictions[target];
    const TargetRule rule =
        target < step.target_rules.size() ? step.target_rules[target] : TargetRule{};
    ++target;
    if (rule.is_distribution) lint_distribution(field, slots, i);
    if (rule.is_probability) check_probabilities(slots, i);
    if (!slots.values[i] || slots.values[i].dtype() != DType::int32) continue;
    const int64_t classes = prediction.shape()[-1];
    const std::span<int32_t> labels = slots.program->tensor(slots.values[i]).as<int32_t>();
    const auto wrong = std::ranges::find_if(labels, [&](int32_t label) {
      return (label < 0 || label >= classes) && label != rule.ignored_label;
    });
    if (wrong == labels.end()) continue;
    const int64_t per_row = std::max<int64_t>(1, std::ssize(labels) / slots.program->rows());
    const int64_t row = (wrong - labels.begin()) / per_row;
    throw DataError("{} has the label {}, but the model has {} outputs, for labels 0 to {}; {}",
                    source_->place(static_cast<int>(i), numbers_[row]), *wrong, classes,
                    classes - 1, advice_on_label(*wrong, classes));
  }
}

// Others make the loss negative without bound: Keras trains on them without a word.
void Stager::check_probabilities(const Slots& slots, size_t index) const {
  const Value value = slots.values[index];
  if (!value || value.dtype() != DType::float32) return;
  const std::span<const float> all = slots.program->tensor(value).as<float>();
  const auto wrong = std::ranges::find_if(all, [](float p) { return p < 0 || p > 1; });
  if (wrong == all.end()) return;
  const int64_t per_row = std::max<int64_t>(1, std::ssize(all) / slots.program->rows());
  throw DataError(
      "{} has the label {:g}, but the loss takes labels for probabilities, 0 to 1; {}",
      source_->place(static_cast<int>(index), numbers_[(wrong - all.begin()) / per_row]), *wrong,
      advice_on_probability(*wrong));
}

// Says once that targets are no probabilities where the loss takes them for some, as numbers of
// classes are not: Keras trains on them without a word.
void Stager::lint_distribution(const Field& field, const Slots& slots, size_t index) const {
  const Value value = slots.values[index];
  if (has_linted_ || !value || value.dtype() != DType::float32) return;
  has_linted_ = true;
  const Tensor targets = slots.program->tensor(value);
  const std::span<float> all = targets.as<float>();
  const auto width = static_cast<size_t>(value.shape()[-1]);
  for (size_t at = 0; at + width <= all.size(); at += width) {
    const double sum = std::accumulate(&all[at], &all[at] + width, 0.0);
    if (std::abs(sum - 1) < 1e-2) continue;
    const size_t per_row = all.size() / static_cast<size_t>(slots.program->rows());
    log_message(LogLevel::warning,
                "{}: row {} adds up to {:g}, but categorical_crossentropy takes a row for "
                "probabilities; give one-hot rows, or sparse_categorical_crossentropy for numbers "
                "of classes, or mse for amounts",
                field.name, numbers_[at / per_row], sum);
    return;
  }
}

// Keras's class_weight: the class of integer labels, or the largest entry of a one-hot row; 1 for
// classes not named. There is one target: a fit refuses more.
void Stager::weigh(const Slots& slots) const {
  if (slots.weights.data == nullptr || options_.class_weight.empty()) return;
  const std::span<float> weights = slots.weights.as<float>();
  for (size_t i = 0; i < slots.fields.size(); ++i) {
    if (source_->fields()[i].role != FieldRole::target) continue;
    const Tensor& targets = slots.fields[i];
    const int64_t width = targets.size() / std::ssize(weights);
    for (int64_t row = 0; row < std::ssize(weights); ++row) {
      int64_t label = 0;
      if (targets.dtype() == DType::int32) {
        label = targets.as<int32_t>()[row * width];
      } else {
        const std::span<float> values = targets.as<float>().subspan(row * width, width);
        label =
            width == 1 ? std::lround(values[0]) : std::ranges::max_element(values) - values.begin();
      }
      const auto found = options_.class_weight.find(label);
      weights[row] = found == options_.class_weight.end() ? 1 : static_cast<float>(found->second);
    }
  }
}

}  // namespace snug
