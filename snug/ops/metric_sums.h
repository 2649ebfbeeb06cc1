// What metrics add up over a batch, in one node each. Sums are float64, so that they stay right
// after any number of rows; where an input has rows, each is a sum over rows.
#pragma once

#include <vector>

#include "snug/graph/graph.h"

namespace snug::ops {

// Weights are float32, or empty: all ones. They have the shape of what they weigh, or a leading
// part of it, [rows] beside [rows, steps]: then a weight goes with the mean of its elements.

// [2]: the sum of values times weights, and the sum of the weights.
Value weighted_sums(Value values, Value weights = {});

enum class Hit {
  binary,       // A target that is 1 where the prediction is above the threshold, 0 elsewhere.
  categorical,  // Targets whose largest entry stands where the predictions' does.
  sparse,       // An int32 label that is the place of the largest prediction.
};
struct AccuracyOptions {
  Hit hit = Hit::binary;
  float threshold = 0.5f;
};
// [2]: weighted_sums of the share of hits in each stretch along the last axis of the predictions.
// Of equals the first is the largest; a row with NaN hits nothing.
Value accuracy_sums(Value predictions, Value targets, Value weights = {},
                    const AccuracyOptions& options = {});

// [2, thresholds + 1]: the weights of the elements whose target is 0, and of those whose target is
// not, by the number of thresholds (ascending) that the prediction is above. A weight goes with
// each of its elements, whole.
Value threshold_sums(Value predictions, Value targets, const std::vector<float>& thresholds,
                     Value weights = {});

}  // namespace snug::ops
