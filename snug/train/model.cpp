#include "snug/train/model.h"

#include <algorithm>
#include <new>

#include "snug/base/error.h"
#include "snug/base/heap.h"
#include "snug/base/nearest_word.h"
#include "snug/tensor/elements.h"
#include "snug/train/fit.h"
#include "snug/train/forward_pass.h"
#include "snug/train/lint.h"
#include "snug/train/one_thread.h"
#include "snug/train/progress.h"
#include "snug/train/step_cache.h"

namespace snug {

bool ValidationFreq::includes(int epoch) const {
  return is_list_ ? std::ranges::count(numbers_, epoch + 1) > 0 : (epoch + 1) % numbers_[0] == 0;
}

void ValidationFreq::check() const {
  if (numbers_.empty())
    throw Error("fit: validation_freq is an empty list; give the epochs to validate after");
  if (const int least = std::ranges::min(numbers_); least < 1)
    throw Error("fit: validation_freq has {}; epochs count from 1: give 1 or more", least);
}

Model::Model(std::shared_ptr<Network> network)
    : network_(std::move(network)), one_thread_(std::make_unique<OneThread>()) {
  if (network_->is_defined()) network_->set_paths();
}

Model::Model(const ModelEnds& inputs, const ModelEnds& outputs, const std::string& name)
    : Model(Network::functional(inputs.symbols(), outputs.symbols(), name)) {}

Model::~Model() {
  if (network_) step_cache().drop(*network_);
}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&& other) noexcept {
  if (this == &other) return *this;
  if (network_) step_cache().drop(*network_);
  network_ = std::move(other.network_);
  one_thread_ = std::move(other.one_thread_);
  compiled_ = std::move(other.compiled_);
  columns = std::move(other.columns);
  stop_training = other.stop_training;
  return *this;
}

const std::shared_ptr<Network>& Model::shared_network() const {
  if (!network_)
    throw Error(
        "the model is empty: it was moved from; use the one that it was moved to, or assign a new "
        "one to this");
  return network_;
}

OneThread& Model::one_thread() const {
  (void)network();
  return *one_thread_;
}

Sequential::Sequential(const std::vector<Layer>& layers, const std::string& name)
    : Model(Network::sequential(layers, name)) {}

void Sequential::add(const Layer& layer) {
  network().add(layer);
  if (network().is_defined()) network().set_paths();
}

void Model::compile(CompileOptions options) {
  const OneThread::Hold hold(one_thread(), "compile");
  if (compiled_ && compiled_->is_in_use())
    throw Error("compile: the model is being fitted or evaluated; compile it when that is done");
  if (network().is_defined()) lint(network(), options);
  step_cache().drop(network());  // It holds the optimizer's state.
  compiled_ = std::make_unique<Compiled>(network(), std::move(options));
}

Values Model::operator()(const Values& in) const {
  return call_root(network(), current_tracer(), in);
}

Value Model::operator()(Value x) const {
  const Values all = (*this)(Values{x});
  if (all.size() > 1)
    throw Error(
        "{}: it has {} outputs, and one was asked for; call it on a list, model(Values{{x}})",
        network().label(), all.size());
  return all[0];
}

Compiled& Model::compiled() const {
  if (compiled_) return *compiled_;
  (void)network();  // Says so where the model was moved from.
  throw Error(
      "the model has not been compiled; call compile({.optimizer = ..., .loss = ...}) first");
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
  if (!network().is_defined()) {
    throw Error("plan: the model has no shapes yet; begin it with an Input, or fit it once");
  }
  std::vector<Shape> target_rows = options.target_rows;
  const Types predictions = network().output_types();
  for (size_t i = target_rows.size(); i < predictions.size(); ++i) {
    // Labels are one number a row where the loss wants them so.
    const Shape& shape = predictions[i].shape;
    const bool labels = compiled().loss(i)->class_name() == "SparseCategoricalCrossentropy";
    target_rows.push_back(shape.part(1, shape.rank() - (labels ? 1 : 0)));
  }
  return plan(described_rows(network(), target_rows, options.batch_size),
              {.batch_size = options.batch_size,
               .memory = options.memory,
               .whole_process = options.whole_process,
               .threads = options.threads});
}

namespace {

void expect_given(std::string_view call, const SourcePtr& data,
                  const std::vector<CallbackPtr>& callbacks) {
  if (!data) throw Error("{}: there is no data; give a source, like data::arrays(x, y)", call);
  if (std::ranges::any_of(callbacks, [](const CallbackPtr& c) { return c == nullptr; }))
    throw Error("{}: a callback is null; make it, or leave it out", call);
}

// For one batch of them; 1 where there are none, which is for the pass to say.
int64_t all_rows(std::string_view call, const SourcePtr& data,
                 const std::vector<CallbackPtr>& callbacks) {
  expect_given(call, data, callbacks);
  if (!data->rows())
    throw Error("{}: how many rows the source has is not known; say so (GeneratorSpec::rows)",
                call);
  return std::max<int64_t>(1, *data->rows());
}

template <typename Run>
auto within_system(std::string_view call, const Run& run) {
  try {
    return run();
  } catch (const std::bad_alloc&) {
    throw BudgetError(
        "{}: the system gives no more memory; end other programs, or give a smaller `memory` than "
        "what is free",
        call);
  }
}

}  // namespace

FitPlan Model::plan(const SourcePtr& data, const FitOptions& options) {
  expect_given("plan", data, options.callbacks);
  const OneThread::Hold hold(one_thread(), "plan");
  const PlanningNotice notice = planning_notice(options.verbose);
  release_free_heap();
  Budget budget = fit_budget(*this, data, options);
  budget.is_exact = true;  // What it says is what a fit with a budget will measure.
  const AloneScope alone;
  return compile_fit(*this, data, options, budget, alone).plan;
}

History Model::fit(const SourcePtr& data, const FitOptions& options) {
  expect_given("fit", data, options.callbacks);
  return within_system("fit", [&] { return FitRun(*this, data, options).run(); });
}

Logs Model::evaluate(const SourcePtr& data, const EvaluateOptions& options) {
  expect_given("evaluate", data, options.callbacks);
  const OneThread::Hold hold(one_thread(), "evaluate");
  const Logs logs = within_system("evaluate", [&]() -> Logs {
    ForwardPass pass(*this, data, options, ForwardPass::What::evaluate);
    const Compiled::Use use(compiled());
    Compiled::Phase& phase = compiled().phase(false, {});
    pass.run([](const StepGraph&, const Stager::Batch&) {});
    pass.keep_step();
    return phase.logs();
  });
  for (const CallbackPtr& callback : options.callbacks) callback->on_test_end(logs);
  return logs;
}

void Model::predict(const SourcePtr& data, const PredictionSink& sink,
                    const EvaluateOptions& options) {
  expect_given("predict", data, options.callbacks);
  one_thread().expect_free("predict");
  const auto give = [&](const StepGraph& step, const Stager::Batch& batch) {
    for (size_t i = 0; i < step.predictions.size(); ++i) {
      sink(static_cast<int>(i), static_cast<int64_t>(batch.info.position),
           batch.program->tensor(step.predictions[i]));
    }
  };
  within_system("predict", [&] {
    ForwardPass pass(*this, data, options, ForwardPass::What::predict);
    pass.run(give);
    pass.keep_step();
  });
  for (const CallbackPtr& callback : options.callbacks) callback->on_predict_end();
}

std::vector<std::vector<float>> Model::predict(const SourcePtr& data,
                                               const EvaluateOptions& options) {
  std::vector<std::vector<float>> outputs;
  predict(
      data,
      [&](int output, int64_t, const Tensor& rows) {
        outputs.resize(network().output_calls().size());
        with_elements(rows, [&](const auto values) {
          outputs[output].insert(outputs[output].end(), values.begin(), values.end());
        });
      },
      options);
  outputs.resize(network().output_calls().size());
  return outputs;
}

Logs Model::train_on_batch(const SourcePtr& data, const FitOptions& options) {
  FitOptions once = options;
  once.batch_size = all_rows("train_on_batch", data, options.callbacks);
  once.epochs = 1;
  once.shuffle = false;
  once.verbose = 0;
  once.initial_epoch = 0;
  FitRun run(*this, data, once, /*of_many=*/true);
  // Each batch with masks, noise and pictures of its own.
  run.set_first_pass(compiled().iterations());
  const History history = run.run(/*ends=*/false);
  Logs logs;
  for (const auto& [name, values] : history.history) logs[name] = values.back();
  run.keep_step();
  return logs;
}

Logs Model::test_on_batch(const SourcePtr& data, const EvaluateOptions& options) {
  EvaluateOptions once = options;
  once.batch_size = all_rows("test_on_batch", data, options.callbacks);
  return evaluate(data, once);
}

std::vector<std::vector<float>> Model::predict_on_batch(const SourcePtr& data,
                                                        const EvaluateOptions& options) {
  EvaluateOptions once = options;
  once.batch_size = all_rows("predict_on_batch", data, options.callbacks);
  return predict(data, once);
}

Layer Model::get_layer(std::string_view name) const {
  std::vector<std::string_view> names;
  for (const LayerPtr& layer : network().layers()) {
    if (layer->name == name) return Layer(layer);
    names.push_back(layer->name);
  }
  throw Error("get_layer: {} has no layer \"{}\"; {}", network().name, name,
              did_you_mean(name, names));
}

Symbols Model::inputs() const {
  Symbols symbols;
  for (const int call : network().input_calls()) symbols.push_back(network().symbol(call, 0));
  return symbols;
}

Symbols Model::outputs() const {
  Symbols symbols;
  for (const auto& [call, output] : network().output_calls())
    symbols.push_back(network().symbol(call, output));
  return symbols;
}

Symbol Model::output_of(std::string_view layer) const {
  const LayerPtr wanted = get_layer(layer).definition();
  const auto& calls = network().calls();
  const auto found = std::ranges::find(calls, wanted, &LayerCall::layer);
  if (found == calls.end())
    throw Error("output_of: the model has no shapes yet; begin it with an Input, or fit it once");
  return network().symbol(static_cast<int>(found - calls.begin()), 0);
}

}  // namespace snug
