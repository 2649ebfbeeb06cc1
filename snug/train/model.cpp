#include "snug/train/model.h"

#include <new>

#include "snug/base/error.h"
#include "snug/train/fit.h"
#include "snug/train/forward_pass.h"
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
  std::vector<Shape> target_rows = options.target_rows;
  const Types predictions = network_->output_types();
  for (size_t i = target_rows.size(); i < predictions.size(); ++i) {
    // Labels are one number a row where the loss wants them so.
    const Shape& shape = predictions[i].shape;
    const bool labels = compiled().loss(i)->class_name() == "SparseCategoricalCrossentropy";
    target_rows.push_back(shape.part(1, shape.rank() - (labels ? 1 : 0)));
  }
  return plan(described_rows(*network_, target_rows, options.batch_size),
              {.batch_size = options.batch_size,
               .memory = options.memory,
               .whole_process = options.whole_process,
               .threads = options.threads});
}

FitPlan Model::plan(const SourcePtr& data, const FitOptions& options) {
  Budget budget = fit_budget(*this, data, options);
  const AloneScope alone;
  return compile_fit(*this, data, options, budget, alone).plan;
}

History Model::fit(const SourcePtr& data, const FitOptions& options) {
  try {
    return FitRun(*this, data, options).run();
  } catch (const std::bad_alloc&) {
    throw BudgetError(
        "fit: the system gives no more memory; end other programs, or give a smaller `memory` than "
        "what is free");
  }
}

Logs Model::evaluate(const SourcePtr& data, const EvaluateOptions& options) {
  ForwardPass pass(*this, data, options, ForwardPass::What::evaluate);
  Compiled::Phase& phase = compiled().phase(false, {});
  phase.reset();
  pass.run([](const StepGraph&, const Stager::Batch&) {});
  const Logs logs = phase.logs();
  for (const CallbackPtr& callback : options.callbacks) callback->on_test_end(logs);
  return logs;
}

void Model::predict(const SourcePtr& data, const PredictionSink& sink,
                    const EvaluateOptions& options) {
  ForwardPass pass(*this, data, options, ForwardPass::What::predict);
  pass.run([&](const StepGraph& step, const Stager::Batch& batch) {
    for (size_t i = 0; i < step.predictions.size(); ++i) {
      sink(static_cast<int>(i), static_cast<int64_t>(batch.info.position),
           batch.program->tensor(step.predictions[i]));
    }
  });
  for (const CallbackPtr& callback : options.callbacks) callback->on_predict_end();
}

std::vector<std::vector<float>> Model::predict(const SourcePtr& data,
                                               const EvaluateOptions& options) {
  std::vector<std::vector<float>> outputs;
  predict(
      data,
      [&](int output, int64_t, const Tensor& rows) {
        outputs.resize(network_->output_calls().size());
        const std::span<float> values = rows.as<float>();
        outputs[output].insert(outputs[output].end(), values.begin(), values.end());
      },
      options);
  outputs.resize(network_->output_calls().size());
  return outputs;
}

Logs Model::train_on_batch(const SourcePtr& data, const FitOptions& options) {
  FitOptions once = options;
  once.batch_size = data->rows();
  once.epochs = 1;
  once.shuffle = false;
  once.verbose = 0;
  once.initial_epoch = 0;
  FitRun run(*this, data, once);
  // Each batch with masks, noise and pictures of its own.
  run.set_first_pass(compiled().iterations());
  const History history = run.run(/*ends=*/false);
  Logs logs;
  for (const auto& [name, values] : history.history) logs[name] = values.back();
  return logs;
}

}  // namespace snug
