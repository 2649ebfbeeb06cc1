// Counts above and below thresholds, and the ratios that are made of them.

#include <algorithm>

#include "snug/base/error.h"
#include "snug/nn/metrics.h"
#include "snug/nn/network.h"
#include "snug/nn/target_types.h"
#include "snug/nn/threshold_metric.h"
#include "snug/ops/metric_sums.h"
#include "snug/ops/ops.h"

namespace snug {

Type ThresholdMetric::target_type(const Type& predictions, const Shape& target_row) const {
  return matching_targets(predictions, target_row, name);
}

void ThresholdMetric::add(Tracer& tracer, Value targets, Value predictions, Value weights,
                          const std::vector<float>& thresholds) {
  add_to_state(tracer, ops::threshold_sums(predictions, targets, thresholds, weights));
}

// The state is two histograms over the number of thresholds below; from the top, their running
// sums are what stands above each threshold.
std::vector<Confusion> ThresholdMetric::confusion() const {
  const std::vector<double> state = sums();
  if (state.empty()) return {};
  const size_t columns = state.size() / 2;
  std::vector<Confusion> at(columns - 1);
  double positives = 0, negatives = 0;
  for (size_t i = columns - 1; i > 0; --i) {
    negatives += state[i];
    positives += state[columns + i];
    at[i - 1] = {.true_positives = positives, .false_positives = negatives};
  }
  negatives += state[0];
  positives += state[columns];
  for (Confusion& c : at) {
    c.true_negatives = negatives - c.false_positives;
    c.false_negatives = positives - c.true_positives;
  }
  return at;
}

namespace {

// Keras's number for a prediction that is not among the k largest, and the threshold above it.
constexpr float kOutOfTopK = -1e10f;

// What the metrics here make of a confusion.
struct Measure {
  std::string_view class_name;
  bool selects;  // It has the settings top_k and class_id.
  MetricDefinition::Direction direction;
  double (*of)(const Confusion&);
};

double ratio(double a, double b) { return b == 0 ? 0 : a / b; }

using Direction = MetricDefinition::Direction;
const Measure kTruePositives = {"TruePositives", false, Direction::none,
                                [](const Confusion& c) { return c.true_positives; }};
const Measure kFalsePositives = {"FalsePositives", false, Direction::none,
                                 [](const Confusion& c) { return c.false_positives; }};
const Measure kTrueNegatives = {"TrueNegatives", false, Direction::none,
                                [](const Confusion& c) { return c.true_negatives; }};
const Measure kFalseNegatives = {"FalseNegatives", false, Direction::none,
                                 [](const Confusion& c) { return c.false_negatives; }};
const Measure kPrecision = {"Precision", true, Direction::up, [](const Confusion& c) {
                              return ratio(c.true_positives, c.true_positives + c.false_positives);
                            }};
const Measure kRecall = {"Recall", true, Direction::up, [](const Confusion& c) {
                           return ratio(c.true_positives, c.true_positives + c.false_negatives);
                         }};

class MeasureMetric final : public ThresholdMetric {
 public:
  MeasureMetric(const Measure& measure, const metrics::PrecisionOptions& options)
      : measure_(measure), options_(options) {
    name = options.name.empty() ? snake_case(measure.class_name) : options.name;
    check();
  }
  std::string_view class_name() const override { return measure_.class_name; }
  MetricPtr fresh() const override { return std::make_shared<MeasureMetric>(*this); }
  void settings(SettingVisitor& visitor) override {
    MetricDefinition::settings(visitor);
    visitor.visit("thresholds", options_.thresholds);
    if (measure_.selects) {
      visitor.visit("top_k", options_.top_k);
      visitor.visit("class_id", options_.class_id);
    }
    check();
  }

  void update(Tracer& tracer, Value targets, Value predictions, Value weights) override {
    if (options_.top_k) predictions = top_k_only(predictions);
    if (options_.class_id) {
      predictions = class_only(predictions);
      targets = class_only(targets);
    }
    add(tracer, targets, predictions, weights, sorted());
  }

  // In the order in which the thresholds were given.
  std::vector<double> results() const override {
    const std::vector<Confusion> at = confusion();
    const std::vector<float> order = sorted();
    std::vector<double> values;
    for (const float threshold : thresholds()) {
      const auto place = std::ranges::lower_bound(order, threshold) - order.begin();
      values.push_back(at.empty() ? 0 : measure_.of(at[place]));
    }
    return values;
  }
  Direction direction() const override { return measure_.direction; }

 private:
  std::vector<float> thresholds() const {
    if (!options_.thresholds) return {options_.top_k ? kOutOfTopK : 0.5f};
    return {options_.thresholds->begin(), options_.thresholds->end()};
  }
  std::vector<float> sorted() const {
    std::vector<float> order = thresholds();
    std::ranges::sort(order);
    return order;
  }

  void check() const {
    if (options_.thresholds && options_.thresholds->empty())
      throw Error("{}: the list of thresholds is empty; leave it out for 0.5", name);
    for (const double threshold : options_.thresholds.value_or(std::vector<double>())) {
      if (threshold >= 0 && threshold <= 1) continue;
      throw Error("{}: a threshold is {}; thresholds are from 0 to 1", name, threshold);
    }
    if (options_.top_k && *options_.top_k < 1)
      throw Error("{}: top_k is {}; it must be at least 1", name, *options_.top_k);
  }

  static Value top_k_mask(Value x, int64_t k) {
    const Value places = ops::top_k(x, static_cast<int>(k)).indices;
    return ops::sum(ops::one_hot(places, x.shape()[-1]), {.axes = {-2}});
  }
  Value top_k_only(Value x) const {
    const Value chosen = ops::cast(top_k_mask(x, *options_.top_k), DType::boolean);
    return ops::where(chosen, x, ops::constant(x.graph(), {}, kOutOfTopK));
  }

  Value class_only(Value x) const {
    const int rank = x.shape().rank();
    if (rank < 2 || *options_.class_id < 0 || *options_.class_id >= x.shape()[-1]) {
      throw Error("{}: class_id is {}, but predictions of shape {} have no such class", name,
                  *options_.class_id, x.shape().text());
    }
    ops::SliceOptions slice{.begin = std::vector<int64_t>(rank, 0),
                            .size = std::vector<int64_t>(rank, -1)};
    slice.begin.back() = *options_.class_id;
    slice.size.back() = 1;
    return ops::slice(x, slice);
  }

  const Measure& measure_;
  metrics::PrecisionOptions options_;
};

Metric measure_metric(const Measure& measure, const metrics::PrecisionOptions& options) {
  return Metric(std::make_shared<MeasureMetric>(measure, options));
}
Metric measure_metric(const Measure& measure, const metrics::ThresholdOptions& options) {
  return measure_metric(
      measure, metrics::PrecisionOptions{.thresholds = options.thresholds, .name = options.name});
}

}  // namespace

namespace metrics {

Metric TruePositives(const ThresholdOptions& options) {
  return measure_metric(kTruePositives, options);
}
Metric FalsePositives(const ThresholdOptions& options) {
  return measure_metric(kFalsePositives, options);
}
Metric TrueNegatives(const ThresholdOptions& options) {
  return measure_metric(kTrueNegatives, options);
}
Metric FalseNegatives(const ThresholdOptions& options) {
  return measure_metric(kFalseNegatives, options);
}
Metric Precision(const PrecisionOptions& options) { return measure_metric(kPrecision, options); }
Metric Recall(const PrecisionOptions& options) { return measure_metric(kRecall, options); }

}  // namespace metrics
}  // namespace snug
