#include "snug/nn/metric.h"

#include <algorithm>
#include <numeric>

#include "snug/base/error.h"
#include "snug/base/nearest_word.h"
#include "snug/nn/loss_list.h"
#include "snug/nn/metrics.h"
#include "snug/nn/target_types.h"
#include "snug/ops/ops.h"
#include "snug/tensor/elements.h"

namespace snug {
namespace {

bool is_accuracy(std::string_view name) {
  return same_word(name, "accuracy") || same_word(name, "acc");
}

}  // namespace

void MetricDefinition::settings(SettingVisitor& visitor) {
  visitor.visit("name", name);
  visitor.visit("dtype", dtype_);
}

double MetricDefinition::result() const {
  const std::vector<double> all = results();
  if (all.empty()) return 0;
  return std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
}

MetricPtr MetricDefinition::fresh() const {
  throw Error("{}: a metric of one's own needs fresh(), for each output has its own copy", name);
}

VariablePtr MetricDefinition::add_state(std::string name, const Type& type, double initial) {
  VariableSpec spec{.name = std::move(name), .type = type, .trainable = false};
  state_.push_back(std::make_shared<Variable>(std::move(spec)));
  state_.back()->set_path("metrics/" + this->name + "/" + state_.back()->name());
  initial_.push_back(initial);
  return state_.back();
}

void MetricDefinition::reset() {
  for (size_t i = 0; i < state_.size(); ++i) {
    if (!state_[i]->has_values()) continue;
    with_elements(state_[i]->tensor(), [&](const auto elements) {
      using Element = std::ranges::range_value_t<decltype(elements)>;
      std::ranges::fill(elements, static_cast<Element>(initial_[i]));
    });
  }
}

void MetricDefinition::add_to_state(Tracer& tracer, Value sums) {
  if (sums.dtype() == DType::float32) sums = ops::cast(sums, DType::float64);
  if (state_.empty()) add_state("sums", sums.type());
  ops::assign_add(tracer.value(state_[0]), sums);
}

std::vector<double> MetricDefinition::sums() const {
  if (state_.empty() || !state_[0]->has_values()) return {};
  const auto values = state_[0]->tensor().as<double>();
  return {values.begin(), values.end()};
}

Metric::Metric(const char* name) : Metric(std::string(name)) {}

Metric::Metric(const std::string& name) : name_(name), is_word_(true) {
  if (is_accuracy(name)) return;
  definition_ = metric_by_word(name);
  definition_->name = name;
}

Metric::Metric(MetricPtr definition, std::string_view name) : definition_(std::move(definition)) {
  if (!name.empty()) definition_->name = name;
  name_ = definition_->name;
}

MetricPtr Metric::resolve(const Type& predictions, const Shape& target_row) const {
  if (definition_) return definition_->fresh();
  MetricPtr metric;
  switch (target_kind(predictions, target_row)) {
    case TargetKind::binary:
      metric = metrics::BinaryAccuracy().definition();
      break;
    case TargetKind::sparse:
      metric = metrics::SparseCategoricalAccuracy().definition();
      break;
    case TargetKind::categorical:
      metric = metrics::CategoricalAccuracy().definition();
      break;
  }
  metric->name = name_;
  return metric;
}

}  // namespace snug
