// Keras's losses but the cross-entropies, each with its values before reduction (keras.md 4.2).

#include <algorithm>
#include <functional>
#include <vector>

#include "snug/nn/loss.h"
#include "snug/nn/loss_terms.h"
#include "snug/nn/network.h"
#include "snug/nn/target_types.h"

namespace snug {
namespace {

constexpr float kEpsilon = 1e-7f;

// A loss that is the mean (or another function) of a term over the last axis, with no settings but
// its reduction.
class PlainLoss final : public LossDefinition {
 public:
  using Terms = std::function<Value(Value targets, Value predictions)>;
  PlainLoss(std::string_view class_name, Terms terms)
      : class_name_(class_name), terms_(std::move(terms)) {
    name = snake_case(class_name_);
  }

  std::string_view class_name() const override { return class_name_; }
  void settings(SettingVisitor& visitor) override {
    visitor.visit("name", name);
    visitor.visit("reduction", reduction);
  }
  Type target_type(const Type& predictions, const Shape& target_row) const override {
    return matching_targets(predictions, target_row, name);
  }
  Value values(Tracer&, Value targets, Value predictions) const override {
    return terms_(targets, predictions);
  }

 private:
  std::string class_name_;
  Terms terms_;
};

class HuberLoss final : public LossDefinition {
 public:
  explicit HuberLoss(double delta = 1) : delta_(delta) { name = "huber_loss"; }
  std::string_view class_name() const override { return "Huber"; }
  void settings(SettingVisitor& visitor) override {
    visitor.visit("name", name);
    visitor.visit("reduction", reduction);
    visitor.visit("delta", delta_);
    if (!(delta_ > 0)) throw Error("{}: delta is {}; give a number above 0", name, delta_);
  }
  Type target_type(const Type& predictions, const Shape& target_row) const override {
    return matching_targets(predictions, target_row, name);
  }
  // e^2 / 2 up to delta, then delta |e| - delta^2 / 2.
  Value values(Tracer&, Value targets, Value predictions) const override {
    const auto delta = static_cast<float>(delta_);
    const Value error = ops::subtract(predictions, targets);
    const Value size = ops::abs(error);
    const Value outside = ops::add_scalar(ops::multiply_scalar(size, delta), -0.5f * delta * delta);
    const Value inside = ops::multiply_scalar(ops::square(error), 0.5f);
    return last_mean(ops::where(ops::less_equal(size, number(size, delta)), inside, outside));
  }

 private:
  double delta_;
};

Value relative_error(Value t, Value p) {
  const Value size = ops::maximum(ops::abs(t), number(t, kEpsilon));
  return ops::multiply_scalar(last_mean(ops::abs(ops::divide(ops::subtract(t, p), size))), 100);
}

Value log_of_one_plus(Value x) {
  return ops::log(ops::add_scalar(ops::maximum(x, number(x, kEpsilon)), 1));
}

// log cosh e = e + softplus(-2 e) - log 2, without overflow.
Value log_cosh(Value t, Value p) {
  const Value e = ops::subtract(p, t);
  const Value tail =
      ops::add_scalar(ops::softplus(ops::multiply_scalar(e, -2)), -0.6931471805599453f);
  return last_mean(ops::add(e, tail));
}

Value divergence(Value t, Value p) {
  t = ops::clip(t, kEpsilon, 1);
  p = ops::clip(p, kEpsilon, 1);
  return last_sum(ops::multiply(t, ops::log(ops::divide(t, p))));
}

Value poisson(Value t, Value p) {
  return last_mean(ops::subtract(p, ops::multiply(t, ops::log(ops::add_scalar(p, kEpsilon)))));
}

// Labels 0 and 1 become -1 and 1, if all labels are 0 or 1; a batch is looked at row by row, so
// here: where this row's are.
Value signs(Value t) {
  const Value zero = ops::equal(t, number(t, 0)), one = ops::equal(t, number(t, 1));
  const Value binary = ops::cast(ops::logical_or(zero, one), DType::float32);
  const Value all = ops::min(binary, {.axes = {-1}, .keepdims = true});
  const Value turned = ops::add_scalar(ops::multiply_scalar(t, 2), -1);
  return ops::where(ops::greater(ops::broadcast_to(all, t.shape()), number(t, 0.5f)), turned, t);
}

Value hinge_terms(Value t, Value p) { return ops::relu(one_minus(ops::multiply(signs(t), p))); }

Value categorical_hinge(Value t, Value p) {
  const Value right = last_sum(ops::multiply(t, p));
  const Value wrong = ops::max(ops::multiply(one_minus(t), p), {.axes = {-1}});
  return ops::relu(ops::add_scalar(ops::subtract(wrong, right), 1));
}

// x / |x|, 0 for a zero vector, as TensorFlow's l2_normalize with its epsilon of 1e-12.
Value unit(Value x) {
  const Value norm = ops::sum(ops::square(x), {.axes = {-1}, .keepdims = true});
  return ops::multiply(x, ops::rsqrt(ops::maximum(norm, number(x, 1e-12f))));
}

Value cosine(Value t, Value p) { return ops::negate(last_sum(ops::multiply(unit(t), unit(p)))); }

struct PlainEntry {
  std::string_view class_name;
  PlainLoss::Terms terms;
};

const std::vector<PlainEntry>& plain_losses() {
  static const std::vector<PlainEntry> kLosses = {
      {"MeanSquaredError",
       [](Value t, Value p) { return last_mean(ops::squared_difference(p, t)); }},
      {"MeanAbsoluteError",
       [](Value t, Value p) { return last_mean(ops::abs(ops::subtract(p, t))); }},
      {"MeanAbsolutePercentageError", relative_error},
      {"MeanSquaredLogarithmicError",
       [](Value t, Value p) {
         return last_mean(ops::squared_difference(log_of_one_plus(p), log_of_one_plus(t)));
       }},
      {"LogCosh", log_cosh},
      {"KLDivergence", divergence},
      {"Poisson", poisson},
      {"Hinge", [](Value t, Value p) { return last_mean(hinge_terms(t, p)); }},
      {"SquaredHinge", [](Value t, Value p) { return last_mean(ops::square(hinge_terms(t, p))); }},
      {"CategoricalHinge", categorical_hinge},
      {"CosineSimilarity", cosine},
  };
  return kLosses;
}

Loss plain(std::string_view class_name, std::string_view reduction) {
  const auto entry = std::ranges::find(plain_losses(), class_name, &PlainEntry::class_name);
  auto loss = std::make_shared<PlainLoss>(entry->class_name, entry->terms);
  loss->reduction = reduction;
  return Loss(std::move(loss));
}

}  // namespace

Loss MeanSquaredError(std::string_view reduction) { return plain("MeanSquaredError", reduction); }
Loss MeanAbsoluteError(std::string_view reduction) { return plain("MeanAbsoluteError", reduction); }
Loss MeanAbsolutePercentageError(std::string_view reduction) {
  return plain("MeanAbsolutePercentageError", reduction);
}
Loss MeanSquaredLogarithmicError(std::string_view reduction) {
  return plain("MeanSquaredLogarithmicError", reduction);
}
Loss LogCosh(std::string_view reduction) { return plain("LogCosh", reduction); }
Loss KLDivergence(std::string_view reduction) { return plain("KLDivergence", reduction); }
Loss Poisson(std::string_view reduction) { return plain("Poisson", reduction); }
Loss Hinge(std::string_view reduction) { return plain("Hinge", reduction); }
Loss SquaredHinge(std::string_view reduction) { return plain("SquaredHinge", reduction); }
Loss CategoricalHinge(std::string_view reduction) { return plain("CategoricalHinge", reduction); }
Loss CosineSimilarity(std::string_view reduction) { return plain("CosineSimilarity", reduction); }

Loss Huber(double delta, std::string_view reduction) {
  auto loss = std::make_shared<HuberLoss>(delta);
  loss->reduction = reduction;
  return Loss(std::move(loss));
}

}  // namespace snug
