#include "snug/train/trace.h"

#include <cstring>

#include "snug/base/error.h"
#include "snug/base/threads.h"
#include "snug/train/fit.h"
#include "snug/train/guard_report.h"
#include "snug/train/step_plan.h"

namespace snug {

void StepArena::reserve(size_t bytes) {
  if (bytes <= arena_.bytes() && arena_.data() != nullptr) return;
  arena_ = Arena();  // The old block goes back before the new one is taken.
  arena_ = Arena(bytes);
  arena_.touch();
}

namespace {

// Layers that are in no model have no paths, and weights of the same path start with the same
// values.
void name_variables(const Tracer& tracer) {
  int number = 0;
  for (const auto& [variable, value] : tracer.variables()) {
    if (variable->path().empty()) {
      variable->set_path(fmt::format("trace/{}/{}", number, variable->name()));
    }
    ++number;
  }
}

StepGraph traced_graph(const BatchSpec& spec, bool training, const Step::Function& function) {
  return record_step(training, [&](StepGraph& step) {
    for (const Type& type : spec.inputs)
      step.inputs.push_back(step.graph->input(fmt::format("x{}", step.inputs.size()), type));
    for (const Type& type : spec.targets)
      step.targets.push_back(step.graph->input(fmt::format("y{}", step.targets.size()), type));
    step.predictions = function(step.inputs, step.targets);
    if (step.predictions.empty())
      throw Error("trace: the function returned nothing; return a value");
    for (const Value& result : step.predictions) {
      if (!result || result.producer() == nullptr) {
        throw Error(
            "trace: the function returned a value that it did not compute; return a result");
      }
    }
    name_variables(*step.tracer);
  });
}

float mean(const Tensor& tensor) {
  if (tensor.dtype() != DType::float32) return 0;
  double sum = 0;
  for (const float value : tensor.as<float>()) sum += value;
  return tensor.size() == 1 ? tensor.as<float>()[0]
                            : static_cast<float>(sum / static_cast<double>(tensor.size()));
}

}  // namespace

Step::Step(const BatchSpec& spec, const TraceOptions& options, const Function& function)
    : spec_(spec), arena_(options.arena) {
  info_.seed = options.seed;
  StepGraph step = traced_graph(spec, options.training, function);
  step.guarded = options.guard;
  const Target target{.threads = options.threads > 0 ? options.threads : hardware_threads()};
  runner_ = plan_step(step, spec.batch_size, options.memory,
                      {.target = target,
                       .fuse = !options.keep_all,
                       .keep_all = options.keep_all,
                       .reproducible = options.reproducible});
  if (!arena_) arena_ = std::make_shared<StepArena>();
  Variables variables;
  for (const auto& [variable, value] : runner_->step().variables) variables.push_back(variable);
  allocate(variables, options.seed);
  arena_->reserve(runner_->arena_bytes());
  if (options.guard && !runner_->step().updates.empty())
    guard_ = std::make_unique<StepGuard>(*runner_, GuardOptions{});
  bind();
}

// Again when another step made the shared arena grow.
void Step::bind() {
  if (bound_to_ == arena_->data()) return;
  runner_->bind(arena_->data());
  bound_to_ = arena_->data();
}

namespace {

const Value& numbered(std::string_view kind, const Values& values, int i) {
  if (i < 0 || i >= std::ssize(values))
    throw Error("step: there is no {} {}; it has {}, counted from 0", kind, i, values.size());
  return values[i];
}

}  // namespace

Tensor Step::slot(std::string_view kind, const Values& values, int i) {
  const Value& value = numbered(kind, values, i);
  bind();
  return runner_->program(spec_.batch_size).tensor(value);
}

namespace {

void copy_to_slot(const Tensor& from, const Value& input, const Program& program) {
  const Tensor slot = program.tensor(input);
  if (from.type != slot.type) {
    throw Error("{}: the batch has {}, but the step was traced for {}", input.name(),
                from.type.text(), slot.type.text());
  }
  // No slot: the function did not look at it.
  if (slot.data != nullptr) std::memcpy(slot.data, from.data, slot.bytes());
}

}  // namespace

int64_t Step::take(const Batch& batch) {
  const StepGraph& graph = step();
  if (batch.x.size() != graph.inputs.size() || batch.y.size() != graph.targets.size()) {
    throw Error("the step was traced for {} inputs and {} targets, but the batch has {} and {}",
                graph.inputs.size(), graph.targets.size(), batch.x.size(), batch.y.size());
  }
  if (batch.rows < 1 || batch.rows > spec_.batch_size) {
    throw Error("the batch has {} rows, but the step was traced for {}", batch.rows,
                spec_.batch_size);
  }
  bind();
  const Program& program = runner_->program_for(batch.rows);
  for (size_t i = 0; i < batch.x.size(); ++i) copy_to_slot(batch.x[i], graph.inputs[i], program);
  for (size_t i = 0; i < batch.y.size(); ++i) copy_to_slot(batch.y[i], graph.targets[i], program);
  return batch.rows;
}

// What is not the caller's to fill: learning rates and the number of rows.
void Step::begin_run(int64_t rows) {
  bind();
  program_ = &runner_->program_for(rows);
  feed_learning_rates(step(), *program_);
  Tracer& tracer = *step().tracer;
  if (tracer.reads_rows()) {
    program_->tensor(tracer.rows()).as<float>()[0] = static_cast<float>(rows);
  }
}

float Step::run(int64_t rows) {
  begin_run(rows);
  program_->compute(info_);
  check();
  program_->commit(info_);
  end_run(rows);
  return mean(result(0));
}

void Step::end_run(int64_t rows) {
  if (guard_) guard_->committed(*program_);
  info_.position += static_cast<uint64_t>(rows);
  ++steps_in_epoch_;
}

void Step::check() {
  if (!guard_) return;
  const std::optional<GuardFinding> finding = guard_->check(*program_);
  if (!finding) return;
  throw NumericsError("step: {}", guard_report(*finding, *program_,
                                               {.info = info_,
                                                .rows = {},
                                                .place = {},
                                                .epoch = static_cast<int>(info_.epoch),
                                                .step = steps_in_epoch_,
                                                .learning_rate = guard_->learning_rate(),
                                                .gradient_norm = guard_->gradient_norm()}));
}

float Step::operator()(const Batch& batch) { return run(take(batch)); }

void Step::each_node(const Batch& batch, const std::function<void(const Node&)>& visit) {
  const int64_t rows = take(batch);
  begin_run(rows);
  program_->compute_each(info_, visit);
  check();
  program_->commit_each(info_, visit);
  end_run(rows);
}

Tensor Step::result(int i) const {
  const Value& value = numbered("result", step().predictions, i);
  if (program_ == nullptr) throw Error("step: result {} was asked for before the first run", i);
  return program_->tensor(value);
}

void Step::begin_epoch(uint64_t epoch) {
  info_.epoch = epoch;
  info_.position = 0;
  steps_in_epoch_ = 0;
}

}  // namespace snug
