// The cross-entropies (keras.md 4.2).

#include "snug/base/error.h"
#include "snug/nn/loss.h"
#include "snug/nn/loss_terms.h"
#include "snug/nn/target_types.h"

namespace snug {

void check_smoothing(double smoothing) {
  if (smoothing < 0 || smoothing > 1)
    throw Error("label_smoothing is {}; it must be from 0 to 1", smoothing);
}

void check_axis(int64_t axis, const std::string& name) {
  if (axis != -1) throw Error("{}: axis is {}; classes must be the last axis", name, axis);
}

namespace {

class CrossentropyLoss : public LossDefinition {
 public:
  explicit CrossentropyLoss(const CrossentropyOptions& options)
      : from_logits_(options.from_logits), label_smoothing_(options.label_smoothing) {
    reduction = options.reduction;
    check_smoothing(label_smoothing_);
  }
  void settings(SettingVisitor& visitor) override {
    visitor.visit("name", name);
    visitor.visit("reduction", reduction);
    visitor.visit("from_logits", from_logits_);
    visitor.visit("label_smoothing", label_smoothing_);
    check_smoothing(label_smoothing_);
  }
  Type target_type(const Type& predictions, const Shape& target_row) const override {
    return matching_targets(predictions, target_row, name);
  }

 protected:
  Value logits(const Tracer& tracer, Value predictions, Logits::From from) const {
    return from_logits_ ? predictions : known_logits(tracer, predictions, from);
  }

  bool from_logits_;
  double label_smoothing_;
};

class BinaryCrossentropyLoss final : public CrossentropyLoss {
 public:
  explicit BinaryCrossentropyLoss(const CrossentropyOptions& options = {})
      : CrossentropyLoss(options) {
    name = "binary_crossentropy";
  }
  std::string_view class_name() const override { return "BinaryCrossentropy"; }
  TargetRule target_rule(const Type&) const override { return {.is_probability = true}; }
  void settings(SettingVisitor& visitor) override {
    CrossentropyLoss::settings(visitor);
    visitor.visit("axis", axis_);
    check_axis(axis_, name);
  }
  Value values(Tracer& tracer, Value targets, Value predictions) const override {
    targets = smoothed(targets, label_smoothing_, 2);
    const Value x = logits(tracer, predictions, Logits::From::sigmoid);
    return last_mean(x ? ops::sigmoid_cross_entropy(x, targets)
                       : ops::binary_cross_entropy(predictions, targets));
  }

 private:
  int64_t axis_ = -1;
};

class CategoricalCrossentropyLoss final : public CrossentropyLoss {
 public:
  explicit CategoricalCrossentropyLoss(const CrossentropyOptions& options = {})
      : CrossentropyLoss(options) {
    name = "categorical_crossentropy";
  }
  std::string_view class_name() const override { return "CategoricalCrossentropy"; }
  TargetRule target_rule(const Type&) const override { return {.is_distribution = true}; }
  void settings(SettingVisitor& visitor) override {
    CrossentropyLoss::settings(visitor);
    visitor.visit("axis", axis_);
    check_axis(axis_, name);
  }
  Value values(Tracer& tracer, Value targets, Value predictions) const override {
    targets = smoothed(targets, label_smoothing_, static_cast<double>(predictions.shape()[-1]));
    const Value x = logits(tracer, predictions, Logits::From::softmax);
    return x ? ops::softmax_cross_entropy(x, targets) : ops::cross_entropy(predictions, targets);
  }

 private:
  int64_t axis_ = -1;
};

class SparseCategoricalCrossentropyLoss final : public LossDefinition {
 public:
  explicit SparseCategoricalCrossentropyLoss(const SparseCrossentropyOptions& options = {})
      : from_logits_(options.from_logits), ignore_class_(options.ignore_class) {
    reduction = options.reduction;
    name = "sparse_categorical_crossentropy";
  }
  std::string_view class_name() const override { return "SparseCategoricalCrossentropy"; }
  void settings(SettingVisitor& visitor) override {
    visitor.visit("name", name);
    visitor.visit("reduction", reduction);
    visitor.visit("from_logits", from_logits_);
    visitor.visit("ignore_class", ignore_class_);
  }

  Type target_type(const Type& predictions, const Shape& target_row) const override {
    return label_targets(predictions, target_row, name);
  }

  TargetRule target_rule(const Type&) const override { return {.ignored_label = ignore_class_}; }

  // Labels that are ignored become class 0, which is always there.
  Value values(Tracer& tracer, Value labels, Value predictions) const override {
    const Value valid = counted(labels);
    if (valid) labels = ops::where(valid, labels, zero_labels(labels));
    const Value x =
        from_logits_ ? predictions : known_logits(tracer, predictions, Logits::From::softmax);
    const Value losses = x ? ops::sparse_softmax_cross_entropy(x, labels)
                           : ops::sparse_cross_entropy(predictions, labels);
    return valid ? ops::where(valid, losses, number(losses, 0)) : losses;
  }
  Value counted(Value labels) const override {
    if (!ignore_class_) return {};
    return ops::not_equal(ops::cast(labels, DType::float32),
                          number(labels, static_cast<float>(*ignore_class_)));
  }

 private:
  static Value zero_labels(Value like) { return ops::cast(number(like, 0), DType::int32); }

  bool from_logits_;
  std::optional<int64_t> ignore_class_;
};

// Binary, sparse or categorical by the shapes; the targets' type then tells which it was. Keras's
// files have a word for it and no place for settings.
class CrossentropyByShape final : public LossDefinition {
 public:
  CrossentropyByShape() { name = "crossentropy"; }
  std::string_view class_name() const override { return "crossentropy"; }
  void settings(SettingVisitor&) override {}
  Type target_type(const Type& predictions, const Shape& target_row) const override {
    const TargetKind kind = target_kind(predictions, target_row);
    return kind == TargetKind::sparse ? label_targets(predictions, target_row, name)
                                      : matching_targets(predictions, target_row, name);
  }
  TargetRule target_rule(const Type& targets) const override {
    if (targets.dtype == DType::int32) return sparse_.target_rule(targets);
    return is_binary(targets.shape) ? binary_.target_rule(targets)
                                    : categorical_.target_rule(targets);
  }
  Value values(Tracer& tracer, Value targets, Value predictions) const override {
    if (targets.dtype() == DType::int32) return sparse_.values(tracer, targets, predictions);
    if (is_binary(predictions.shape())) return binary_.values(tracer, targets, predictions);
    return categorical_.values(tracer, targets, predictions);
  }

 private:
  static bool is_binary(const Shape& shape) {
    return shape.rank() < 2 || shape.extent(-1) == Extent(1);
  }

  BinaryCrossentropyLoss binary_;
  CategoricalCrossentropyLoss categorical_;
  SparseCategoricalCrossentropyLoss sparse_;
};

}  // namespace

Loss BinaryCrossentropy(const CrossentropyOptions& options) {
  return Loss(std::make_shared<BinaryCrossentropyLoss>(options));
}
Loss CategoricalCrossentropy(const CrossentropyOptions& options) {
  return Loss(std::make_shared<CategoricalCrossentropyLoss>(options));
}
Loss SparseCategoricalCrossentropy(const SparseCrossentropyOptions& options) {
  return Loss(std::make_shared<SparseCategoricalCrossentropyLoss>(options));
}
Loss crossentropy_by_shape() { return Loss(std::make_shared<CrossentropyByShape>()); }

}  // namespace snug
