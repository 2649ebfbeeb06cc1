// The share of rows that were predicted right.

#include "snug/base/error.h"
#include "snug/nn/mean_metric.h"
#include "snug/nn/metrics.h"
#include "snug/nn/network.h"
#include "snug/nn/target_types.h"
#include "snug/ops/metric_sums.h"
#include "snug/ops/ops.h"

namespace snug {
namespace {

using ops::Hit;

std::string_view accuracy_class(Hit hit) {
  switch (hit) {
    case Hit::binary:
      return "BinaryAccuracy";
    case Hit::categorical:
      return "CategoricalAccuracy";
    case Hit::sparse:
      break;
  }
  return "SparseCategoricalAccuracy";
}

Type targets_of(bool sparse, const Type& predictions, const Shape& row, std::string_view who) {
  return sparse ? label_targets(predictions, row, who) : matching_targets(predictions, row, who);
}

// Predictions without an axis of classes are one column.
Value with_columns(Value x) {
  if (x.shape().rank() > 1) return x;
  Shape shape = x.shape();
  shape.push_back(1);
  return ops::reshape(x, shape);
}

class AccuracyMetric final : public MeanMetric {
 public:
  explicit AccuracyMetric(Hit hit, double threshold = 0.5) : hit_(hit), threshold_(threshold) {
    name = snake_case(class_name());
  }
  std::string_view class_name() const override { return accuracy_class(hit_); }
  MetricPtr fresh() const override { return std::make_shared<AccuracyMetric>(*this); }
  void settings(SettingVisitor& visitor) override {
    MetricDefinition::settings(visitor);
    if (hit_ == Hit::binary) visitor.visit("threshold", threshold_);
  }
  Type target_type(const Type& predictions, const Shape& target_row) const override {
    return targets_of(hit_ == Hit::sparse, predictions, target_row, name);
  }
  void update(Tracer& tracer, Value targets, Value predictions, Value weights) override {
    const Value scores = with_columns(predictions);
    if (hit_ != Hit::sparse) targets = with_columns(targets);
    weights = masked_weights(tracer, predictions, weights, scores.shape().without(-1));
    const ops::AccuracyOptions options{.hit = hit_, .threshold = static_cast<float>(threshold_)};
    add_to_state(tracer, ops::accuracy_sums(scores, targets, weights, options));
  }
  Direction direction() const override { return Direction::up; }

 private:
  Hit hit_;
  double threshold_;
};

// Elements that are the same number: for predictions that are classes already.
class EqualMetric final : public MeanMetric {
 public:
  EqualMetric() { name = "accuracy"; }
  std::string_view class_name() const override { return "Accuracy"; }
  MetricPtr fresh() const override { return std::make_shared<EqualMetric>(*this); }
  Type target_type(const Type& predictions, const Shape& target_row) const override {
    return matching_targets(predictions, target_row, name);
  }
  void update(Tracer& tracer, Value targets, Value predictions, Value weights) override {
    const Value hits = ops::cast(ops::equal(targets, predictions), DType::float32);
    weights = masked_weights(tracer, predictions, weights, hits.shape());
    add_to_state(tracer, ops::weighted_sums(hits, weights));
  }
  Direction direction() const override { return Direction::up; }
};

class TopKMetric final : public MeanMetric {
 public:
  TopKMetric(bool sparse, int64_t k) : sparse_(sparse), k_(k) {
    if (k < 1) throw Error("{}: k is {}; it must be at least 1", class_name(), k);
    name = snake_case(class_name());
  }
  std::string_view class_name() const override {
    return sparse_ ? "SparseTopKCategoricalAccuracy" : "TopKCategoricalAccuracy";
  }
  MetricPtr fresh() const override { return std::make_shared<TopKMetric>(*this); }
  void settings(SettingVisitor& visitor) override {
    MetricDefinition::settings(visitor);
    visitor.visit("k", k_);
  }
  Type target_type(const Type& predictions, const Shape& target_row) const override {
    return targets_of(sparse_, predictions, target_row, name);
  }
  void update(Tracer& tracer, Value targets, Value predictions, Value weights) override {
    const Value labels = sparse_ ? targets : ops::argmax(targets);
    const Value hits =
        ops::cast(ops::top_k_contains(predictions, labels, static_cast<int>(k_)), DType::float32);
    weights = masked_weights(tracer, predictions, weights, hits.shape());
    add_to_state(tracer, ops::weighted_sums(hits, weights));
  }
  Direction direction() const override { return Direction::up; }

 private:
  bool sparse_;
  int64_t k_;
};

}  // namespace

namespace metrics {

Metric Accuracy(std::string_view name) { return Metric(std::make_shared<EqualMetric>(), name); }
Metric BinaryAccuracy(double threshold, std::string_view name) {
  return Metric(std::make_shared<AccuracyMetric>(Hit::binary, threshold), name);
}
Metric CategoricalAccuracy(std::string_view name) {
  return Metric(std::make_shared<AccuracyMetric>(Hit::categorical), name);
}
Metric SparseCategoricalAccuracy(std::string_view name) {
  return Metric(std::make_shared<AccuracyMetric>(Hit::sparse), name);
}
Metric TopKCategoricalAccuracy(int64_t k, std::string_view name) {
  return Metric(std::make_shared<TopKMetric>(false, k), name);
}
Metric SparseTopKCategoricalAccuracy(int64_t k, std::string_view name) {
  return Metric(std::make_shared<TopKMetric>(true, k), name);
}

}  // namespace metrics
}  // namespace snug
