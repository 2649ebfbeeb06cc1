#include <cmath>

#include "snug/base/error.h"
#include "snug/base/nearest_word.h"
#include "snug/nn/regularizer.h"
#include "snug/nn/weight_words.h"
#include "snug/ops/ops.h"

namespace snug {
namespace {

// As in Keras.
void expect_factor(const char* name, double factor) {
  if (factor >= 0 && std::isfinite(factor)) return;
  throw Error("the regularizer's {} is {}; it must be a number of 0 or more", name, factor);
}

Value absolutes(Value x, double factor) {
  expect_factor("l1", factor);
  return ops::multiply_scalar(ops::sum(ops::abs(x)), static_cast<float>(factor));
}

// As Keras has it, without a half in front.
Value squares(Value x, double factor) {
  expect_factor("l2", factor);
  return ops::multiply_scalar(ops::sum(ops::square(x)), static_cast<float>(factor));
}

class L1 final : public Regularizer {
 public:
  explicit L1(double factor) : factor_(factor) {}
  std::string_view class_name() const override { return "L1"; }
  void settings(SettingVisitor& visitor) override { visitor.visit("l1", factor_); }
  Value penalty(Value variable) const override { return absolutes(variable, factor_); }

 private:
  double factor_;
};

class L2 final : public Regularizer {
 public:
  explicit L2(double factor) : factor_(factor) {}
  std::string_view class_name() const override { return "L2"; }
  void settings(SettingVisitor& visitor) override { visitor.visit("l2", factor_); }
  Value penalty(Value variable) const override { return squares(variable, factor_); }

 private:
  double factor_;
};

class L1L2 final : public Regularizer {
 public:
  L1L2(double l1, double l2) : l1_(l1), l2_(l2) {}
  std::string_view class_name() const override { return "L1L2"; }
  void settings(SettingVisitor& visitor) override {
    visitor.visit("l1", l1_);
    visitor.visit("l2", l2_);
  }
  Value penalty(Value variable) const override {
    return ops::add(absolutes(variable, l1_), squares(variable, l2_));
  }

 private:
  double l1_, l2_;
};

}  // namespace

RegularizerPtr l1(double factor) { return std::make_shared<L1>(factor); }
RegularizerPtr l2(double factor) { return std::make_shared<L2>(factor); }
RegularizerPtr l1_l2(double l1, double l2) { return std::make_shared<L1L2>(l1, l2); }

std::vector<std::string_view> regularizer_words() { return {"l1", "l2", "l1_l2"}; }

RegularizerPtr make_regularizer(std::string_view name) {
  const std::vector<std::string_view> words = regularizer_words();
  if (same_word(name, words[0])) return l1();
  if (same_word(name, words[1])) return l2();
  if (same_word(name, words[2])) return l1_l2();
  throw Error("there is no regularizer \"{}\"; {}", name, did_you_mean(name, words));
}

}  // namespace snug
