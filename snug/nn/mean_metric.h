// Metrics that are a weighted mean over all that was seen.
#pragma once

#include "snug/nn/metric.h"

namespace snug {

// total / count, where a batch adds two sums: of weighted values, and of weights.
class MeanMetric : public MetricDefinition {
 public:
  double result() const override;

 protected:
  // The weights of cells of this shape: `weights` where the predictions have no mask. A mask
  // counts as weights of 0 and 1 (keras.md 4.2), for metrics that take no weights too.
  static Value masked_weights(Tracer& tracer, Value predictions, Value weights, const Shape& cells);
};

}  // namespace snug
