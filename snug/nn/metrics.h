// Keras's metrics, by their Keras names and with Keras's defaults (keras.md 4.3).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "snug/nn/metric.h"

namespace snug::metrics {

// An empty name stands for Keras's own, the class name in snake case. (Keras numbers some of them,
// "auc_1", by how many the process has made.)

// Of values, which stand where predictions stand elsewhere; their targets are empty.
Metric Mean(std::string_view name = {});
Metric Sum(std::string_view name = {});

// The mean of what a function of targets and predictions, of one shape, gives: [rows, ...]. It is
// of the program's own, so no file keeps it.
using MeasureFunction = std::function<Value(Value targets, Value predictions)>;
Metric MeanMetricWrapper(MeasureFunction function, std::string_view name);

// The share of predictions that are their targets, element by element. The word "accuracy" is not
// this one: it stands for one of the three below, as in Keras.
Metric Accuracy(std::string_view name = {});
Metric BinaryAccuracy(double threshold = 0.5, std::string_view name = {});
Metric CategoricalAccuracy(std::string_view name = {});
Metric SparseCategoricalAccuracy(std::string_view name = {});
// Ties count as hits.
Metric TopKCategoricalAccuracy(int64_t k = 5, std::string_view name = {});
Metric SparseTopKCategoricalAccuracy(int64_t k = 5, std::string_view name = {});

// The means of losses.
Metric MeanSquaredError(std::string_view name = {});
Metric RootMeanSquaredError(std::string_view name = {});
Metric MeanAbsoluteError(std::string_view name = {});
Metric MeanAbsolutePercentageError(std::string_view name = {});
Metric MeanSquaredLogarithmicError(std::string_view name = {});
Metric CosineSimilarity(std::string_view name = {});  // 1 is best, unlike the loss's -1.
Metric LogCoshError(std::string_view name = {});
Metric Poisson(std::string_view name = {});
Metric KLDivergence(std::string_view name = {});
Metric Hinge(std::string_view name = {});
Metric SquaredHinge(std::string_view name = {});
Metric CategoricalHinge(std::string_view name = {});
struct CrossentropyOptions {
  bool from_logits = false;
  double label_smoothing = 0;
  std::string name;
};
Metric BinaryCrossentropy(const CrossentropyOptions& options = {});
Metric CategoricalCrossentropy(const CrossentropyOptions& options = {});
// label_smoothing must be 0.
Metric SparseCategoricalCrossentropy(const CrossentropyOptions& options = {});

// Counts of elements above and below thresholds in [0, 1]; absent: 0.5. With several thresholds
// there are several results.
struct ThresholdOptions {
  std::optional<std::vector<double>> thresholds;
  std::string name;
};
Metric TruePositives(const ThresholdOptions& options = {});
Metric FalsePositives(const ThresholdOptions& options = {});
Metric TrueNegatives(const ThresholdOptions& options = {});
Metric FalseNegatives(const ThresholdOptions& options = {});

struct PrecisionOptions {
  std::optional<std::vector<double>> thresholds;
  std::optional<int64_t> top_k;     // Only the k largest of a row can be positive.
  std::optional<int64_t> class_id;  // Only this class is looked at.
  std::string name;
};
Metric Precision(const PrecisionOptions& options = {});
Metric Recall(const PrecisionOptions& options = {});

struct AUCOptions {
  int64_t num_thresholds = 200;
  std::string curve = "ROC";                       // Or "PR".
  std::string summation_method = "interpolation";  // Or "majoring", "minoring".
  std::optional<std::vector<double>> thresholds;   // Between the two ends, in place of even ones.
  bool from_logits = false;
  std::string name;
};
Metric AUC(const AUCOptions& options = {});

struct FScoreOptions {
  std::string average;              // "micro", "macro", "weighted"; empty: a result for each class.
  std::optional<double> threshold;  // Absent: the largest of a row is positive.
  std::string name;
};
Metric F1Score(const FScoreOptions& options = {});

Metric MeanIoU(int64_t num_classes, std::string_view name = {});
Metric R2Score(std::string_view name = {});

}  // namespace snug::metrics
