// Cross-entropies that count less where the prediction is good already.

#include "snug/base/error.h"
#include "snug/nn/loss.h"
#include "snug/nn/loss_terms.h"
#include "snug/nn/target_types.h"

namespace snug {
namespace {

constexpr float kEpsilon = 1e-7f;

class FocalLoss : public LossDefinition {
 public:
  explicit FocalLoss(const FocalOptions& options) : options_(options) {
    reduction = options.reduction;
    check_smoothing(options.label_smoothing);
  }
  void settings(SettingVisitor& visitor) override {
    visitor.visit("name", name);
    visitor.visit("reduction", reduction);
    if (is_binary()) visitor.visit("apply_class_balancing", options_.apply_class_balancing);
    visitor.visit("alpha", options_.alpha);
    visitor.visit("gamma", options_.gamma);
    visitor.visit("from_logits", options_.from_logits);
    visitor.visit("label_smoothing", options_.label_smoothing);
    visitor.visit("axis", axis_);
    check_smoothing(options_.label_smoothing);
    check_axis(axis_, name);
  }
  Type target_type(const Type& predictions, const Shape& target_row) const override {
    return matching_targets(predictions, target_row, name);
  }

 protected:
  virtual bool is_binary() const = 0;

  Value to_the_gamma(Value x) const {
    if (options_.gamma == 0) return number(x, 1);
    if (options_.gamma == 2) return ops::square(x);
    // Below 1 the power has no slope at 0.
    if (options_.gamma < 1) x = ops::maximum(x, number(x, kEpsilon));
    return ops::power(x, number(x, static_cast<float>(options_.gamma)));
  }

  FocalOptions options_;
  int64_t axis_ = -1;
};

class BinaryFocalLoss final : public FocalLoss {
 public:
  explicit BinaryFocalLoss(const FocalOptions& options) : FocalLoss(options) {
    name = "binary_focal_crossentropy";
  }
  std::string_view class_name() const override { return "BinaryFocalCrossentropy"; }
  TargetRule target_rule(const Type&) const override { return {.is_probability = true}; }
  Value values(Tracer& tracer, Value targets, Value predictions) const override {
    const Value logits = options_.from_logits
                             ? predictions
                             : known_logits(tracer, predictions, Logits::From::sigmoid);
    const Value p = options_.from_logits ? ops::sigmoid(predictions) : predictions;
    const Value t = smoothed(targets, options_.label_smoothing, 2);
    const Value loss =
        logits ? ops::sigmoid_cross_entropy(logits, t) : ops::binary_cross_entropy(p, t);
    const Value right = either(t, p, one_minus(p));
    const Value focal = ops::multiply(to_the_gamma(one_minus(right)), loss);
    if (!options_.apply_class_balancing) return last_mean(focal);
    const auto alpha = static_cast<float>(options_.alpha);
    const Value balance = either(t, number(t, alpha), number(t, 1 - alpha));
    return last_mean(ops::multiply(balance, focal));
  }

 private:
  bool is_binary() const override { return true; }
  static Value either(Value t, Value one, Value zero) {
    return ops::add(ops::multiply(t, one), ops::multiply(one_minus(t), zero));
  }
};

class CategoricalFocalLoss final : public FocalLoss {
 public:
  explicit CategoricalFocalLoss(const FocalOptions& options) : FocalLoss(options) {
    name = "categorical_focal_crossentropy";
  }
  std::string_view class_name() const override { return "CategoricalFocalCrossentropy"; }
  TargetRule target_rule(const Type&) const override { return {.is_distribution = true}; }
  Value values(Tracer&, Value targets, Value predictions) const override {
    const auto classes = static_cast<double>(predictions.shape()[-1]);
    const Value t = smoothed(targets, options_.label_smoothing, classes);
    Value p = options_.from_logits ? ops::softmax(predictions) : predictions;
    p = ops::divide(p, ops::sum(p, {.axes = {-1}, .keepdims = true}));
    p = ops::clip(p, kEpsilon, 1 - kEpsilon);
    const Value loss = ops::multiply(t, ops::log(p));
    const Value focal = ops::multiply(to_the_gamma(one_minus(p)), loss);
    return ops::multiply_scalar(last_sum(focal), -static_cast<float>(options_.alpha));
  }

 private:
  bool is_binary() const override { return false; }
};

}  // namespace

Loss BinaryFocalCrossentropy(const FocalOptions& options) {
  return Loss(std::make_shared<BinaryFocalLoss>(options));
}
Loss CategoricalFocalCrossentropy(const FocalOptions& options) {
  return Loss(std::make_shared<CategoricalFocalLoss>(options));
}

}  // namespace snug
