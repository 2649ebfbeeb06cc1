// Scores that are made of sums for each class or output.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "snug/base/error.h"
#include "snug/nn/metrics.h"
#include "snug/nn/target_types.h"
#include "snug/ops/ops.h"

namespace snug {
namespace {

constexpr double kEpsilon = 1e-7;

Value number(Value like, float value) { return ops::constant(like.graph(), {}, value); }

// Sums over rows of x [rows, columns], weighted by [rows].
Value column_sums(Value x, Value weights) {
  if (weights) x = ops::multiply(x, ops::reshape(weights, {kRows, 1}));
  return ops::sum(x, {.axes = {0}});
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

void check_columns(const Type& predictions, std::string_view who) {
  if (predictions.shape.rank() == 2) return;
  throw Error("{}: predictions have the shape {}; it must be [rows, outputs]", who,
              predictions.shape.text());
}

class F1Metric final : public MetricDefinition {
 public:
  explicit F1Metric(const metrics::FScoreOptions& options) : options_(options) {
    name = options.name.empty() ? "f1_score" : options.name;
    check();
  }
  std::string_view class_name() const override { return "F1Score"; }
  MetricPtr fresh() const override { return std::make_shared<F1Metric>(*this); }
  void settings(SettingVisitor& visitor) override {
    MetricDefinition::settings(visitor);
    visitor.visit("average", options_.average);
    visitor.visit("threshold", options_.threshold);
    check();
  }
  Type target_type(const Type& predictions, const Shape& target_row) const override {
    check_columns(predictions, name);
    return matching_targets(predictions, target_row, name);
  }

  // The state: hits, positive predictions and positive targets of each class.
  void update(Tracer& tracer, Value targets, Value predictions, Value weights) override {
    const Value chosen = ops::cast(positives(predictions), DType::float32);
    const Value sums = ops::concat({column_sums(ops::multiply(chosen, targets), weights),
                                    column_sums(chosen, weights), column_sums(targets, weights)},
                                   0);
    add_to_state(tracer, ops::cast(sums, DType::float64));
  }

  std::vector<double> results() const override {
    std::vector<double> state = sums();
    if (state.empty()) return {0};
    if (options_.average == "micro") state = totals(state);
    const size_t classes = state.size() / 3;
    std::vector<double> scores(classes);
    for (size_t c = 0; c < classes; ++c) {
      const double precision = state[c] / (state[classes + c] + kEpsilon);
      const double recall = state[c] / (state[2 * classes + c] + kEpsilon);
      scores[c] = 2 * precision * recall / (precision + recall + kEpsilon);
    }
    if (options_.average.empty()) return scores;
    if (options_.average != "weighted") return {mean(scores)};
    const double* weights = &state[2 * classes];
    const double all = std::accumulate(weights, weights + classes, 0.0) + kEpsilon;
    return {std::inner_product(scores.begin(), scores.end(), weights, 0.0) / all};
  }
  Direction direction() const override { return Direction::up; }

 private:
  // Above the threshold; without one, the largest of a row, if it is not 0.
  Value positives(Value x) const {
    if (options_.threshold)
      return ops::greater(x, number(x, static_cast<float>(*options_.threshold)));
    const Value largest = ops::max(x, {.axes = {-1}, .keepdims = true});
    return ops::logical_and(ops::greater_equal(x, largest),
                            ops::greater(ops::abs(x), number(x, 1e-9f)));
  }

  static std::vector<double> totals(const std::vector<double>& state) {
    const auto classes = static_cast<std::ptrdiff_t>(state.size() / 3);
    std::vector<double> all;
    for (auto from = state.begin(); from != state.end(); from += classes)
      all.push_back(std::accumulate(from, from + classes, 0.0));
    return all;
  }

  void check() const {
    const std::string_view known[] = {"", "micro", "macro", "weighted"};
    if (std::ranges::find(known, options_.average) == std::end(known)) {
      throw Error("{}: average is \"{}\"; it must be micro, macro, weighted or left out", name,
                  options_.average);
    }
    if (options_.threshold && !(*options_.threshold > 0 && *options_.threshold <= 1))
      throw Error("{}: the threshold is {}; it must be above 0 and up to 1", name,
                  *options_.threshold);
  }

  metrics::FScoreOptions options_;
};

// The share of the variance of each output that the predictions explain; their mean.
class R2Metric final : public MetricDefinition {
 public:
  R2Metric() { name = "r2_score"; }
  std::string_view class_name() const override { return "R2Score"; }
  MetricPtr fresh() const override { return std::make_shared<R2Metric>(*this); }
  void settings(SettingVisitor& visitor) override {
    MetricDefinition::settings(visitor);
    std::string aggregation = "uniform_average";
    int64_t regressors = 0;
    visitor.visit("class_aggregation", aggregation);
    visitor.visit("num_regressors", regressors);
    if (aggregation == "uniform_average" && regressors == 0) return;
    throw Error("{}: Snug has class_aggregation uniform_average and num_regressors 0 only", name);
  }
  Type target_type(const Type& predictions, const Shape& target_row) const override {
    check_columns(predictions, name);
    return matching_targets(predictions, target_row, name);
  }

  // The state, for each output: sums of squared errors, targets, their squares, and weights.
  void update(Tracer& tracer, Value targets, Value predictions, Value weights) override {
    const Value ones = ops::cast(ops::equal(targets, targets), DType::float32);
    const Value sums =
        ops::concat({column_sums(ops::squared_difference(targets, predictions), weights),
                     column_sums(targets, weights), column_sums(ops::square(targets), weights),
                     column_sums(ones, weights)},
                    0);
    add_to_state(tracer, ops::cast(sums, DType::float64));
  }

  double result() const override {
    const std::vector<double> state = sums();
    const size_t outputs = state.size() / 4;
    if (outputs == 0 || state.back() == 0) return 0;
    std::vector<double> scores(outputs);
    for (size_t i = 0; i < outputs; ++i) {
      const double sum = state[outputs + i], count = state[3 * outputs + i];
      const double score = 1 - state[i] / (state[2 * outputs + i] - sum * sum / count);
      scores[i] = std::isinf(score) ? 0 : score;
    }
    return mean(scores);
  }
  Direction direction() const override { return Direction::up; }
};

// Predictions and targets are labels, of one shape.
class MeanIoUMetric final : public MetricDefinition {
 public:
  explicit MeanIoUMetric(int64_t classes) : classes_(classes) {
    name = "mean_io_u";
    if (classes < 1) throw Error("{}: num_classes is {}; give at least 1", name, classes);
  }
  std::string_view class_name() const override { return "MeanIoU"; }
  MetricPtr fresh() const override { return std::make_shared<MeanIoUMetric>(*this); }
  void settings(SettingVisitor& visitor) override {
    MetricDefinition::settings(visitor);
    visitor.visit("num_classes", classes_);
    visitor.visit("ignore_class", ignore_class_);
    visitor.visit("sparse_y_true", sparse_targets_);
    visitor.visit("sparse_y_pred", sparse_predictions_);
    int64_t axis = -1;
    visitor.visit("axis", axis);
    if (axis != -1) throw Error("{}: axis is {}; classes must be the last axis", name, axis);
  }
  Type target_type(const Type& predictions, const Shape& target_row) const override {
    const Shape labels = sparse_predictions_ ? predictions.shape : predictions.shape.without(-1);
    if (!sparse_predictions_ && predictions.shape.extent(-1) != Extent(classes_)) {
      throw Error("{}: num_classes is {}, but the predictions are {}; give the number of classes",
                  name, classes_, predictions.shape.text());
    }
    if (!sparse_targets_) {
      Shape shape = labels;
      shape.push_back(classes_);
      return matching_targets({DType::float32, shape}, target_row, name);
    }
    return {DType::int32, matching_targets({DType::int32, labels}, target_row, name).shape};
  }

  // The state: weights by target and prediction, [classes, classes]. Keras counts in whole numbers.
  void update(Tracer& tracer, Value targets, Value predictions, Value weights) override {
    const Value wanted = sparse_targets_ ? targets : ops::argmax(targets);
    const Value found = sparse_predictions_ ? predictions : ops::argmax(predictions);
    Value rows = as_rows(wanted);
    if (ignore_class_) {
      const Value ignored = ops::constant(rows.graph(), {}, static_cast<float>(*ignore_class_));
      const Value kept = ops::not_equal(ops::cast(wanted, DType::float32), ignored);
      rows = ops::multiply(rows, flat(ops::cast(kept, DType::float32)));
    }
    if (weights) {
      Shape shape = weights.shape();
      while (shape.rank() < wanted.shape().rank()) shape.push_back(1);
      const Value whole = ops::cast(ops::cast(weights, DType::int32), DType::float32);
      rows =
          ops::multiply(rows, flat(ops::broadcast_to(ops::reshape(whole, shape), wanted.shape())));
    }
    const Value matrix = ops::matmul(rows, as_rows(found), {.transpose_a = true});
    add_to_state(tracer, ops::cast(matrix, DType::float64));
  }

  // Classes that are neither wanted nor found do not count.
  double result() const override {
    const std::vector<double> state = sums();
    std::vector<double> shares;
    for (int64_t c = 0; !state.empty() && c < classes_; ++c) {
      double joined = -state[c * classes_ + c];
      for (int64_t other = 0; other < classes_; ++other)
        joined += state[c * classes_ + other] + state[other * classes_ + c];
      const bool ignored = ignore_class_ && *ignore_class_ == c;
      if (joined != 0 && !ignored) shares.push_back(state[c * classes_ + c] / joined);
    }
    return shares.empty() ? 0 : mean(shares);
  }
  Direction direction() const override { return Direction::up; }

 private:
  // One column.
  static Value flat(Value x) {
    return ops::reshape(x, {Extent(x.shape().size_per_row(), true), 1});
  }
  Value as_rows(Value labels) const {
    const Extent rows(labels.shape().size_per_row(), true);
    if (labels.dtype() != DType::int32) labels = ops::cast(labels, DType::int32);
    return ops::one_hot(ops::reshape(labels, {rows}), classes_);
  }

  int64_t classes_;
  std::optional<int64_t> ignore_class_;
  bool sparse_targets_ = true, sparse_predictions_ = true;
};

}  // namespace

namespace metrics {

Metric F1Score(const FScoreOptions& options) { return Metric(std::make_shared<F1Metric>(options)); }
Metric R2Score(std::string_view name) { return Metric(std::make_shared<R2Metric>(), name); }
Metric MeanIoU(int64_t num_classes, std::string_view name) {
  return Metric(std::make_shared<MeanIoUMetric>(num_classes), name);
}

}  // namespace metrics
}  // namespace snug
