// What a model is trained to make small.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "snug/base/settings.h"
#include "snug/nn/tracer.h"

namespace snug {

// What the rows of targets must be like, beside their type.
struct TargetRule {
  std::optional<int64_t> ignored_label;  // Stands for "none", whatever its value.
  bool is_distribution = false;          // A row is one: it adds up to 1.
  bool is_probability = false;           // Each number is one: 0 to 1.
};

class LossDefinition : public Configurable {
 public:
  // The type that targets must have beside predictions of this type, given the shape that the
  // user's targets have without rows (Keras's rank fix: [] goes with [1] and back). Throws Error
  // where they do not fit, naming both: targets are never broadcast against predictions.
  virtual Type target_type(const Type& predictions, const Shape& target_row) const = 0;

  // Of targets of this type, which is one that target_type gave.
  virtual TargetRule target_rule(const Type& /*targets*/) const { return {}; }

  // One loss for each row and each further axis but the last: [rows, ...]. Where the tracer knows
  // the logits of softmax or sigmoid predictions, they are used, as Keras on TensorFlow does.
  virtual Value values(Tracer& tracer, Value targets, Value predictions) const = 0;

  // Which of the values count, as bools of their shape; empty: all. A value that does not count
  // is 0 in the sum and left out of the mean.
  virtual Value counted(Value /*targets*/) const { return {}; }

  // The loss of the batch by `reduction`. `weights` (of the values' shape, or with 1 along some of
  // its axes; may be empty) multiply the values. A mean divides by the number of values in all rows
  // of the logical batch (Tracer::rows); where the predictions have a mask, or not all values
  // count, by the number of those that do; mean_with_sample_weight by the sum of the weights.
  Value reduced(Tracer& tracer, Value targets, Value predictions, Value weights) const;

  std::string name;                               // Keras's: "mean_squared_error".
  std::string reduction = "sum_over_batch_size";  // Or "sum", "mean", "mean_with_sample_weight".

 private:
  static Value mean(Tracer& tracer, Value total, const Shape& shape, Value mask);
};
using LossPtr = std::shared_ptr<LossDefinition>;

// A cheap handle; from a string, Keras's names: "mse", "binary_crossentropy", ...
class Loss {
 public:
  Loss(const char* name);         // NOLINT: .loss = "mse"
  Loss(const std::string& name);  // NOLINT
  explicit Loss(LossPtr definition) : definition_(std::move(definition)) {}

  const LossPtr& definition() const { return definition_; }
  LossDefinition* operator->() const { return definition_.get(); }
  // The word that it was made from, as Keras's files keep it; empty for an object.
  const std::string& word() const { return word_; }

  // Inside a trace: the reduced loss.
  Value operator()(Value targets, Value predictions, Value weights = {}) const {
    return definition_->reduced(current(), targets, predictions, weights);
  }

 private:
  static Tracer& current();
  LossPtr definition_;
  std::string word_;
};

struct CrossentropyOptions {
  bool from_logits = false;
  double label_smoothing = 0;
  std::string reduction = "sum_over_batch_size";
};
struct SparseCrossentropyOptions {
  bool from_logits = false;
  std::optional<int64_t> ignore_class;
  std::string reduction = "sum_over_batch_size";
};
Loss MeanSquaredError(std::string_view reduction = "sum_over_batch_size");
Loss MeanAbsoluteError(std::string_view reduction = "sum_over_batch_size");
Loss MeanAbsolutePercentageError(std::string_view reduction = "sum_over_batch_size");
Loss MeanSquaredLogarithmicError(std::string_view reduction = "sum_over_batch_size");
Loss Huber(double delta = 1, std::string_view reduction = "sum_over_batch_size");
Loss LogCosh(std::string_view reduction = "sum_over_batch_size");
Loss BinaryCrossentropy(const CrossentropyOptions& options = {});
Loss CategoricalCrossentropy(const CrossentropyOptions& options = {});
Loss SparseCategoricalCrossentropy(const SparseCrossentropyOptions& options = {});
// Losses of what is predicted well already count less: times (1 - p)^gamma, p being what the right
// class got.
struct FocalOptions {
  double alpha = 0.25;  // Binary: read with apply_class_balancing only.
  double gamma = 2;
  bool from_logits = false;
  double label_smoothing = 0;
  bool apply_class_balancing = false;  // Binary only: alpha weighs ones, 1 - alpha zeros.
  std::string reduction = "sum_over_batch_size";
};
Loss BinaryFocalCrossentropy(const FocalOptions& options = {});
Loss CategoricalFocalCrossentropy(const FocalOptions& options = {});
Loss KLDivergence(std::string_view reduction = "sum_over_batch_size");
Loss Poisson(std::string_view reduction = "sum_over_batch_size");
Loss Hinge(std::string_view reduction = "sum_over_batch_size");
Loss SquaredHinge(std::string_view reduction = "sum_over_batch_size");
Loss CategoricalHinge(std::string_view reduction = "sum_over_batch_size");
Loss CosineSimilarity(std::string_view reduction = "sum_over_batch_size");

// Binary, sparse or categorical by the shapes of predictions and targets, as "crossentropy" is for
// Keras's compile (keras.md 1.6).
Loss crossentropy_by_shape();

// By Keras's words, class names or snake case; throws Error that names the nearest right word.
Loss make_loss(std::string_view name);

}  // namespace snug
