#include "snug/nn/mean_metric.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "snug/base/error.h"
#include "snug/nn/loss.h"
#include "snug/nn/loss_terms.h"
#include "snug/nn/metrics.h"
#include "snug/nn/network.h"
#include "snug/nn/target_types.h"
#include "snug/ops/metric_sums.h"
#include "snug/ops/ops.h"

namespace snug {

double MeanMetric::result() const {
  const std::vector<double> state = sums();
  return state.empty() || state[1] == 0 ? 0 : state[0] / state[1];
}

Value MeanMetric::masked_weights(Tracer& tracer, Value predictions, Value weights,
                                 const Shape& cells) {
  const Value mask = tracer.mask(predictions);
  if (!mask || mask.shape().rank() > cells.rank()) return weights;
  const Value real = ops::cast(mask, DType::float32);
  if (!weights) return real;
  Shape shape = weights.shape();
  while (shape.rank() < real.shape().rank()) shape.push_back(1);
  return ops::multiply(real, ops::reshape(weights, shape));
}

namespace {

class Mean : public MeanMetric {
 public:
  Mean() { name = "mean"; }
  std::string_view class_name() const override { return "Mean"; }
  MetricPtr fresh() const override { return std::make_shared<Mean>(*this); }
  Type target_type(const Type& predictions, const Shape&) const override { return predictions; }
  void update(Tracer& tracer, Value, Value values, Value weights) override {
    add_to_state(tracer, ops::weighted_sums(values, weights));
  }
};

// A weight goes with the sum of its values, not with their mean.
class Sum final : public Mean {
 public:
  Sum() { name = "sum"; }
  std::string_view class_name() const override { return "Sum"; }
  MetricPtr fresh() const override { return std::make_shared<Sum>(*this); }
  void update(Tracer& tracer, Value, Value values, Value weights) override {
    if (weights && weights.shape() != values.shape()) {
      std::vector<int> axes;
      for (int axis = weights.shape().rank(); axis < values.shape().rank(); ++axis)
        axes.push_back(axis);
      values = ops::sum(values, {.axes = axes});
    }
    add_to_state(tracer, ops::weighted_sums(values, weights));
  }
  double result() const override {
    const std::vector<double> state = sums();
    return state.empty() ? 0 : state[0];
  }
};

// Keras's MeanMetricWrapper over a loss: same class name unless another is given.
class MeanOfLoss : public MeanMetric {
 public:
  explicit MeanOfLoss(const Loss& loss, std::string_view class_name = {})
      : loss_(loss),
        class_name_(class_name.empty() ? loss->class_name() : class_name),
        sign_(loss->class_name() == "CosineSimilarity" ? -1 : 1) {
    name = snake_case(class_name_);
  }
  std::string_view class_name() const override { return class_name_; }
  MetricPtr fresh() const override { return std::make_shared<MeanOfLoss>(*this); }
  Type target_type(const Type& predictions, const Shape& target_row) const override {
    return loss_->target_type(predictions, target_row);
  }
  void update(Tracer& tracer, Value targets, Value predictions, Value weights) override {
    const Value values = loss_->values(tracer, targets, predictions);
    const Value all = masked_weights(tracer, predictions, weights, values.shape());
    add_to_state(tracer, ops::weighted_sums(values, all));
  }
  double result() const override { return sign_ * MeanMetric::result(); }
  Direction direction() const override { return sign_ > 0 ? Direction::down : Direction::up; }

 protected:
  Loss loss_;
  std::string class_name_;

 private:
  double sign_;
};

class MeanOfFunction final : public MeanMetric {
 public:
  explicit MeanOfFunction(metrics::MeasureFunction function) : function_(std::move(function)) {
    if (!function_) throw Error("MeanMetricWrapper: the function is empty; give one");
  }
  std::string_view class_name() const override { return "MeanMetricWrapper"; }
  MetricPtr fresh() const override { return std::make_shared<MeanOfFunction>(*this); }
  Type target_type(const Type& predictions, const Shape& target_row) const override {
    return matching_targets(predictions, target_row, name);
  }
  void update(Tracer& tracer, Value targets, Value predictions, Value weights) override {
    const Value values = function_(targets, predictions);
    const Value all = masked_weights(tracer, predictions, weights, values.shape());
    add_to_state(tracer, ops::weighted_sums(values, all));
  }

 private:
  metrics::MeasureFunction function_;
};

// The settings are the metric's own, as the loss's differ: "name" is this one's, and there is a
// "dtype" in place of a "reduction".
class CrossentropyMetric final : public MeanOfLoss {
 public:
  enum class Kind { binary, categorical, sparse };
  CrossentropyMetric(Kind kind, const metrics::CrossentropyOptions& options)
      : MeanOfLoss(loss_of(kind, options)), kind_(kind), options_(options) {
    if (kind == Kind::sparse && options.label_smoothing != 0)
      throw Error("{}: labels cannot be smoothed; use categorical_crossentropy", name);
  }
  MetricPtr fresh() const override { return std::make_shared<CrossentropyMetric>(*this); }
  void settings(SettingVisitor& visitor) override {
    MetricDefinition::settings(visitor);
    visitor.visit("from_logits", options_.from_logits);
    if (kind_ != Kind::sparse) visitor.visit("label_smoothing", options_.label_smoothing);
    if (kind_ != Kind::binary) visitor.visit("axis", axis_);
    check_axis(axis_, name);
    loss_ = loss_of(kind_, options_);
  }

 private:
  static Loss loss_of(Kind kind, const metrics::CrossentropyOptions& options) {
    const snug::CrossentropyOptions dense{.from_logits = options.from_logits,
                                          .label_smoothing = options.label_smoothing};
    if (kind == Kind::binary) return snug::BinaryCrossentropy(dense);
    if (kind == Kind::categorical) return snug::CategoricalCrossentropy(dense);
    return snug::SparseCategoricalCrossentropy({.from_logits = options.from_logits});
  }

  Kind kind_;
  metrics::CrossentropyOptions options_;
  int64_t axis_ = -1;
};

class RootMeanSquaredError final : public MeanOfLoss {
 public:
  RootMeanSquaredError() : MeanOfLoss(snug::MeanSquaredError(), "RootMeanSquaredError") {}
  MetricPtr fresh() const override { return std::make_shared<RootMeanSquaredError>(*this); }
  double result() const override { return std::sqrt(MeanOfLoss::result()); }
};

Metric mean_of(const Loss& loss, std::string_view name, std::string_view class_name = {}) {
  return Metric(std::make_shared<MeanOfLoss>(loss, class_name), name);
}

Metric crossentropy(CrossentropyMetric::Kind kind, const metrics::CrossentropyOptions& options) {
  return Metric(std::make_shared<CrossentropyMetric>(kind, options), options.name);
}

}  // namespace

namespace metrics {

Metric Mean(std::string_view name) { return Metric(std::make_shared<snug::Mean>(), name); }
Metric Sum(std::string_view name) { return Metric(std::make_shared<snug::Sum>(), name); }
Metric MeanMetricWrapper(MeasureFunction function, std::string_view name) {
  return Metric(std::make_shared<MeanOfFunction>(std::move(function)), name);
}
Metric MeanSquaredError(std::string_view name) { return mean_of(snug::MeanSquaredError(), name); }
Metric RootMeanSquaredError(std::string_view name) {
  return Metric(std::make_shared<snug::RootMeanSquaredError>(), name);
}
Metric MeanAbsoluteError(std::string_view name) { return mean_of(snug::MeanAbsoluteError(), name); }
Metric MeanAbsolutePercentageError(std::string_view name) {
  return mean_of(snug::MeanAbsolutePercentageError(), name);
}
Metric MeanSquaredLogarithmicError(std::string_view name) {
  return mean_of(snug::MeanSquaredLogarithmicError(), name);
}
Metric CosineSimilarity(std::string_view name) { return mean_of(snug::CosineSimilarity(), name); }
Metric LogCoshError(std::string_view name) {
  return mean_of(snug::LogCosh(), name.empty() ? "logcosh" : name, "LogCoshError");
}
Metric Poisson(std::string_view name) { return mean_of(snug::Poisson(), name); }
Metric KLDivergence(std::string_view name) { return mean_of(snug::KLDivergence(), name); }
Metric Hinge(std::string_view name) { return mean_of(snug::Hinge(), name); }
Metric SquaredHinge(std::string_view name) { return mean_of(snug::SquaredHinge(), name); }
Metric CategoricalHinge(std::string_view name) { return mean_of(snug::CategoricalHinge(), name); }

Metric BinaryCrossentropy(const CrossentropyOptions& options) {
  return crossentropy(CrossentropyMetric::Kind::binary, options);
}
Metric CategoricalCrossentropy(const CrossentropyOptions& options) {
  return crossentropy(CrossentropyMetric::Kind::categorical, options);
}
Metric SparseCategoricalCrossentropy(const CrossentropyOptions& options) {
  return crossentropy(CrossentropyMetric::Kind::sparse, options);
}

}  // namespace metrics
}  // namespace snug
