// Metrics that count what stands above and below thresholds.
#pragma once

#include "snug/nn/metric.h"

namespace snug {

// Sums of weights, by truth and prediction.
struct Confusion {
  double true_positives = 0, false_positives = 0, true_negatives = 0, false_negatives = 0;
};

class ThresholdMetric : public MetricDefinition {
 public:
  Type target_type(const Type& predictions, const Shape& target_row) const override;

 protected:
  // `thresholds` in ascending order, always the same.
  void add(Tracer& tracer, Value targets, Value predictions, Value weights,
           const std::vector<float>& thresholds);
  // At each threshold; empty before anything was measured.
  std::vector<Confusion> confusion() const;
};

}  // namespace snug
