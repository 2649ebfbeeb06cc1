#include "snug/train/model.h"

#include <algorithm>
#include <cstring>

#include "snug/base/error.h"
#include "snug/base/threads.h"
#include "snug/train/fit.h"
#include "snug/train/lint.h"

namespace snug {

Model::Model(std::shared_ptr<Network> network) : network_(std::move(network)) {
  if (network_->is_defined()) network_->set_paths();
}

Model::Model(const Symbols& inputs, const Symbols& outputs, const std::string& name)
    : Model(Network::functional(inputs, outputs, name)) {}

Model::~Model() = default;
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;

Sequential::Sequential(const std::vector<Layer>& layers, const std::string& name)
    : Model(Network::sequential(layers, name)) {}

void Sequential::add(const Layer& layer) {
  network().add(layer);
  if (network().is_defined()) network().set_paths();
}

void Model::compile(CompileOptions options) {
  if (network_->is_defined()) lint(*network_, options);
  compiled_ = std::make_unique<Compiled>(*network_, std::move(options));
}

Values Model::operator()(const Values& in) const {
  return call_root(*network_, current_tracer(), in);
}

Compiled& Model::compiled() const {
  if (!compiled_)
    throw Error(
        "the model has not been compiled; call compile({{.optimizer = ..., .loss = ...}}) first");
  return *compiled_;
}

void Model::ensure_weights(uint64_t seed) { allocate(weights(), seed); }

std::vector<std::vector<float>> Model::get_weights() {
  ensure_weights(0);
  return layer().get_weights();
}

void Model::set_weights(const std::vector<std::vector<float>>& values) {
  ensure_weights(0);
  layer().set_weights(values);
}

FitPlan Model::plan(const PlanOptions& options) {
  if (!network_->is_defined()) {
    throw Error("plan: the model has no shapes yet; begin it with an Input, or fit it once");
  }
  network_->set_paths();
  TargetTypes targets{.target_rows = options.target_rows};
  const Types predictions = network_->output_types();
  for (size_t i = targets.target_rows.size(); i < predictions.size(); ++i) {
    // Labels are one number a row where the loss wants them so.
    const Shape& shape = predictions[i].shape;
    const bool labels = compiled().loss(i)->class_name() == "SparseCategoricalCrossentropy";
    targets.target_rows.push_back(shape.part(1, shape.rank() - (labels ? 1 : 0)));
  }
  const Budget budget = make_budget(options.memory, options.whole_process);
  const RunnerOptions runner{
      .target = {.threads = options.threads > 0 ? options.threads : hardware_threads()},
      .budget_bytes = budget.for_step()};
  FitPlan plan{.batch_size = options.batch_size,
               .process_bytes = budget.process_bytes,
               .reserve_bytes = budget.reserve_bytes,
               .budget_bytes = budget.bytes};
  plan.training = std::make_shared<Runner>(training_step(*network_, compiled(), targets),
                                           std::vector{options.batch_size}, runner);
  plan.arena_bytes = static_cast<int64_t>(plan.training->arena_bytes());
  plan.weight_bytes = static_cast<int64_t>(allocation_bytes(weights()));
  plan.slot_bytes = static_cast<int64_t>(allocation_bytes(compiled().slots()));
  return plan;
}

History Model::fit(const SourcePtr& data, const FitOptions& options) {
  return FitRun(*this, data, options).run();
}

namespace {

// Runs a forward step over all rows of a source, in order.
class ForwardPass {
 public:
  ForwardPass(Model& model, const SourcePtr& data, const EvaluateOptions& options, bool measures)
      : options_(options) {
    fit_network_to(model.network(), *data);
    model.network().set_paths();
    const int64_t asked = options.batch_size.value_or(32);
    stager_.emplace(data,
                    StagerOptions{.batch_size = std::min(asked, data->rows().value_or(asked))});
    const bool weighted = std::ranges::any_of(
        data->fields(), [](const Field& field) { return field.role == FieldRole::weight; });
    StepGraph step = measures ? evaluation_step(model.network(), model.compiled(),
                                                target_types(*data, model.network(), weighted))
                              : prediction_step(model.network());
    const Budget budget = make_budget(options.memory, options.whole_process);
    RunnerOptions runner{
        .target = {.threads = options.threads > 0 ? options.threads : hardware_threads()},
        .borrow_inputs = stager_->can_borrow(step),
        .budget_bytes = budget.for_step()};
    runner_ = std::make_unique<Runner>(std::move(step), stager_->batch_rows(), runner);
    model.ensure_weights(0);
    Variables variables;
    for (const auto& [variable, value] : runner_->step().variables) variables.push_back(variable);
    allocate(variables, 0);
    arena_ = Arena(runner_->arena_bytes());
    runner_->bind(arena_.data());
  }

  template <typename Visit>
  void run(const Visit& visit) {
    stager_->begin_pass(0);
    for (int64_t done = 0; done < options_.steps.value_or(INT64_MAX); ++done) {
      const std::optional<Stager::Batch> batch = stager_->next(*runner_);
      if (!batch) break;
      batch->program->run(batch->info);
      visit(runner_->step(), *batch);
    }
  }

 private:
  EvaluateOptions options_;
  std::optional<Stager> stager_;
  std::unique_ptr<Runner> runner_;
  Arena arena_;
};

}  // namespace

Logs Model::evaluate(const SourcePtr& data, const EvaluateOptions& options) {
  ForwardPass pass(*this, data, options, /*measures=*/true);
  Compiled::Phase& phase = compiled().phase(false, {});
  phase.reset();
  pass.run([](const StepGraph&, const Stager::Batch&) {});
  return phase.logs();
}

void Model::predict(const SourcePtr& data, const PredictionSink& sink,
                    const EvaluateOptions& options) {
  ForwardPass pass(*this, data, options, /*measures=*/false);
  pass.run([&](const StepGraph& step, const Stager::Batch& batch) {
    for (size_t i = 0; i < step.predictions.size(); ++i) {
      sink(static_cast<int>(i), static_cast<int64_t>(batch.info.position),
           batch.program->tensor(step.predictions[i]));
    }
  });
}

std::vector<std::vector<float>> Model::predict(const SourcePtr& data,
                                               const EvaluateOptions& options) {
  std::vector<std::vector<float>> outputs;
  predict(
      data,
      [&](int output, int64_t, const Tensor& rows) {
        if (static_cast<int>(outputs.size()) <= output) outputs.resize(output + 1);
        const std::span<float> values = rows.as<float>();
        outputs[output].insert(outputs[output].end(), values.begin(), values.end());
      },
      options);
  return outputs;
}

Logs Model::train_on_batch(const SourcePtr& data, const FitOptions& options) {
  FitOptions once = options;
  once.batch_size = data->rows();
  once.epochs = 1;
  once.shuffle = false;
  once.verbose = 0;
  once.initial_epoch = 0;
  const History history = FitRun(*this, data, once).run(/*ends=*/false);
  Logs logs;
  for (const auto& [name, values] : history.history) logs[name] = values.back();
  return logs;
}

}  // namespace snug
