// The area under a curve that thresholds draw.

#include <algorithm>
#include <cmath>
#include <limits>

#include "snug/base/error.h"
#include "snug/nn/metrics.h"
#include "snug/nn/threshold_metric.h"
#include "snug/ops/ops.h"

namespace snug {
namespace {

double ratio(double a, double b) { return b == 0 ? 0 : a / b; }

// Between two thresholds, true positives and all positives grow evenly; precision is their ratio
// at each point (Davis and Goadrich, 2006).
double interpolated_precision_area(const std::vector<Confusion>& at) {
  double area = 0;
  for (size_t i = 0; i + 1 < at.size(); ++i) {
    const Confusion &low = at[i], &high = at[i + 1];
    const double low_positives = low.true_positives + low.false_positives;
    const double high_positives = high.true_positives + high.false_positives;
    const double hits = low.true_positives - high.true_positives;
    const double slope = ratio(hits, std::max(low_positives - high_positives, 0.0));
    const double intercept = high.true_positives - slope * high_positives;
    const bool both = low_positives > 0 && high_positives > 0;
    const double growth = both ? std::log(low_positives / high_positives) : 0;
    area += ratio(slope * (hits + intercept * growth), high.true_positives + high.false_negatives);
  }
  return area;
}

class AucMetric final : public ThresholdMetric {
 public:
  explicit AucMetric(const metrics::AUCOptions& options) : options_(options) {
    name = options.name.empty() ? "auc" : options.name;
    check();
  }
  std::string_view class_name() const override { return "AUC"; }
  MetricPtr fresh() const override { return std::make_shared<AucMetric>(*this); }

  void settings(SettingVisitor& visitor) override {
    MetricDefinition::settings(visitor);
    bool multi_label = false;
    std::optional<int64_t> num_labels;
    std::optional<std::vector<double>> label_weights;
    visitor.visit("num_thresholds", options_.num_thresholds);
    visitor.visit("curve", options_.curve);
    visitor.visit("summation_method", options_.summation_method);
    visitor.visit("multi_label", multi_label);
    visitor.visit("num_labels", num_labels);
    visitor.visit("label_weights", label_weights);
    visitor.visit("from_logits", options_.from_logits);
    visitor.visit("thresholds", options_.thresholds);
    if (multi_label || label_weights)
      throw Error(
          "{}: Snug measures one area over all labels; leave multi_label and "
          "label_weights out",
          name);
    check();
  }

  void update(Tracer& tracer, Value targets, Value predictions, Value weights) override {
    if (options_.from_logits) predictions = ops::sigmoid(predictions);
    add(tracer, targets, predictions, weights, thresholds());
  }

  double result() const override {
    const std::vector<Confusion> at = confusion();
    const bool roc = options_.curve == "ROC";
    if (!roc && options_.summation_method == "interpolation")
      return interpolated_precision_area(at);
    double area = 0;
    for (size_t i = 0; i + 1 < at.size(); ++i) {
      const double width = x(at[i], roc) - x(at[i + 1], roc);
      area += width * height(y(at[i], roc), y(at[i + 1], roc));
    }
    return area;
  }
  Direction direction() const override { return Direction::up; }

 private:
  static double recall(const Confusion& c) {
    return ratio(c.true_positives, c.true_positives + c.false_negatives);
  }
  static double x(const Confusion& c, bool roc) {
    return roc ? ratio(c.false_positives, c.false_positives + c.true_negatives) : recall(c);
  }
  static double y(const Confusion& c, bool roc) {
    return roc ? recall(c) : ratio(c.true_positives, c.true_positives + c.false_positives);
  }
  double height(double a, double b) const {
    if (options_.summation_method == "interpolation") return (a + b) / 2;
    return options_.summation_method == "majoring" ? std::max(a, b) : std::min(a, b);
  }

  // Keras's ends stand just outside [0, 1], and it clips predictions to that: every prediction is
  // above the first and none above the last.
  std::vector<float> thresholds() const {
    std::vector<float> all = {-std::numeric_limits<float>::infinity()};
    if (options_.thresholds) {
      all.insert(all.end(), options_.thresholds->begin(), options_.thresholds->end());
    } else {
      for (int64_t i = 1; i + 1 < options_.num_thresholds; ++i)
        all.push_back(static_cast<float>(static_cast<double>(i) /
                                         static_cast<double>(options_.num_thresholds - 1)));
    }
    all.push_back(std::numeric_limits<float>::infinity());
    std::ranges::sort(all);
    return all;
  }

  void check() {
    const std::string& method = options_.summation_method;
    if (options_.curve != "ROC" && options_.curve != "PR")
      throw Error("{}: the curve is \"{}\"; it must be ROC or PR", name, options_.curve);
    if (method != "interpolation" && method != "majoring" && method != "minoring") {
      throw Error("{}: summation_method is \"{}\"; it must be interpolation, majoring or minoring",
                  name, method);
    }
    for (const double threshold : options_.thresholds.value_or(std::vector<double>())) {
      if (threshold >= 0 && threshold <= 1) continue;
      throw Error("{}: a threshold is {}; thresholds are from 0 to 1", name, threshold);
    }
    if (options_.thresholds) options_.num_thresholds = std::ssize(*options_.thresholds) + 2;
    if (options_.num_thresholds < 2)
      throw Error("{}: num_thresholds is {}; give at least 2", name, options_.num_thresholds);
  }

  metrics::AUCOptions options_;
};

}  // namespace

namespace metrics {

Metric AUC(const AUCOptions& options) { return Metric(std::make_shared<AucMetric>(options)); }

}  // namespace metrics
}  // namespace snug
