#include "snug/train/compiled.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <set>

#include "snug/base/error.h"
#include "snug/nn/metrics.h"

namespace snug {
namespace {

std::atomic<uint64_t> last_number = 0;

// Keras's names in the logs: a second one of the same name is weighted_..., or numbered.
std::string log_name(std::set<std::string>& taken, const std::string& prefix,
                     const std::string& name, const std::string& if_taken) {
  std::string base = prefix + name;
  if (taken.contains(base)) base = prefix + if_taken + name;
  std::string unique = base;
  for (int number = 1; !taken.insert(unique).second; ++number) {
    unique = base + "_" + std::to_string(number);
  }
  return unique;
}

}  // namespace

double fixed_rate(const Optimizer& optimizer) {
  const LearningRate& rate = optimizer->common().learning_rate;
  return rate.schedule() ? 0 : rate.at(0);
}

Compiled::Compiled(const Network& network, CompileOptions options)
    : network_(network),
      number_(++last_number),
      options_(std::move(options)),
      optimizer_state_(options_.optimizer) {
  if (network.is_defined()) check_outputs();
}

void Compiled::check_outputs() const {
  const size_t outputs = network_.output_calls().size(), losses = options_.loss.losses().size();
  if (losses > 1 && losses != outputs) {
    throw Error("compile: {} losses were given for {} outputs; give one, or one for each output",
                losses, outputs);
  }
  if (!options_.loss_weights.empty() && options_.loss_weights.size() != outputs) {
    throw Error("compile: {} loss_weights were given for {} outputs; give one for each output",
                options_.loss_weights.size(), outputs);
  }
  for (const double weight : options_.loss_weights) {
    if (!std::isfinite(weight))
      throw Error("compile: loss_weights has {}; give a number for each output", weight);
  }
  if (!options_.output_metrics.empty() && options_.output_metrics.size() != outputs) {
    throw Error("compile: output_metrics has {} lists for {} outputs; give one for each output",
                options_.output_metrics.size(), outputs);
  }
}

const Loss& Compiled::loss(size_t output) const {
  const std::vector<Loss>& losses = options_.loss.losses();
  if (losses.empty()) throw Error("this model has no loss; give one to compile({.loss = ...})");
  return losses.size() == 1 ? losses[0] : losses[output];
}

double Compiled::loss_weight(size_t output) const {
  return options_.loss_weights.empty() ? 1 : options_.loss_weights[output];
}

double Compiled::configured_rate() const {
  const double rate = fixed_rate(optimizer());
  return last_rates_ && last_rates_->left == rate ? last_rates_->configured : rate;
}

void Compiled::end_run(double configured_rate) {
  last_rates_ = {.configured = configured_rate, .left = fixed_rate(optimizer())};
}

Compiled::Phase& Compiled::phase(bool training, const std::vector<Shape>& target_rows) {
  if (const auto known = phases_.find(training); known != phases_.end()) return known->second;
  check_outputs();
  Phase phase;  // Kept when it is whole: what throws below leaves nothing behind.
  phase.loss = metrics::Mean("loss").definition()->fresh();
  const Types predictions = network_.output_types();
  const std::vector<std::string> names = network_.output_names();
  const bool several = predictions.size() > 1;
  std::set<std::string> taken;
  for (size_t i = 0; i < predictions.size(); ++i) {
    if (several) {
      phase.output_losses.push_back(metrics::Mean(names[i] + "_loss").definition()->fresh());
    }
    OutputMetrics& metrics = phase.outputs.emplace_back();
    const std::string prefix = several ? names[i] + "_" : "";
    const auto resolve = [&](const std::vector<Metric>& from, std::vector<MetricPtr>& to,
                             const char* if_taken) {
      for (const Metric& metric : from) {
        to.push_back(metric.resolve(predictions[i], target_rows[i]));
        to.back()->name = log_name(taken, prefix, to.back()->name, if_taken);
      }
    };
    resolve(options_.metrics, metrics.plain, "");
    if (!options_.output_metrics.empty()) resolve(options_.output_metrics[i], metrics.plain, "");
    resolve(options_.weighted_metrics, metrics.weighted, "weighted_");
  }
  return phases_.emplace(training, std::move(phase)).first->second;
}

const Compiled::Phase* Compiled::known_phase(bool training) const {
  const auto known = phases_.find(training);
  return known == phases_.end() ? nullptr : &known->second;
}

std::vector<MetricPtr> Compiled::Phase::all() const {
  std::vector<MetricPtr> metrics = {loss};
  metrics.insert(metrics.end(), output_losses.begin(), output_losses.end());
  for (const OutputMetrics& output : outputs) {
    metrics.insert(metrics.end(), output.plain.begin(), output.plain.end());
    metrics.insert(metrics.end(), output.weighted.begin(), output.weighted.end());
  }
  return metrics;
}

Variables Compiled::Phase::state() const {
  Variables variables;
  for (const MetricPtr& metric : all()) {
    variables.insert(variables.end(), metric->state().begin(), metric->state().end());
  }
  return variables;
}

void Compiled::Phase::reset() {
  for (const MetricPtr& metric : all()) metric->reset();
}

std::map<std::string, double> Compiled::Phase::logs() const {
  const bool is_measured = !is_empty();
  std::map<std::string, double> logs;
  for (const MetricPtr& metric : all())
    logs[metric->name] = is_measured ? metric->result() : std::nan("");
  return logs;
}

bool Compiled::Phase::is_empty() const {
  return std::ranges::all_of(loss->state(), [](const VariablePtr& variable) {
    const Tensor& values = variable->tensor();
    const auto* first = static_cast<const std::byte*>(values.data);
    return std::all_of(first, first + variable->type().bytes(),
                       [](std::byte b) { return b == std::byte{0}; });
  });
}

int64_t history_bytes(const Compiled& compiled, int64_t epochs) {
  const CompileOptions& options = compiled.options();
  const size_t outputs = std::max<size_t>(1, options.loss.losses().size());
  size_t metrics = outputs * (options.metrics.size() + options.weighted_metrics.size());
  for (const auto& of_output : options.output_metrics) metrics += of_output.size();
  // Of training and of validation; the learning rate; the epoch's number.
  const size_t losses = outputs > 1 ? 1 + outputs : 1;
  const size_t columns = 2 * (losses + metrics) + 2;
  return std::max<int64_t>(0, epochs) * static_cast<int64_t>(columns * sizeof(double));
}

}  // namespace snug
