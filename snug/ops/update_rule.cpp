#include "snug/ops/update_rule.h"

#include <cmath>

namespace snug::ops {
namespace {

using Kind = UpdateRule::Kind;

float single(double x) { return static_cast<float>(x); }

struct Loop {
  const kernels::UpdateStep& step;
  float* w;
  const float* g;
  float* const* slots;
  const kernels::UpdateRange& range;

  kernels::UpdateReach operator()(const BoundRule::Sgd&) const {
    return kernels::update_sgd(step, w, g, range);
  }
  kernels::UpdateReach operator()(const kernels::Momentum& rule) const {
    return kernels::update_sgd_momentum(step, rule, w, g, slots[0], range);
  }
  kernels::UpdateReach operator()(const kernels::Adam& rule) const {
    return kernels::update_adam(step, rule, w, g, slots[0], slots[1], slots[2], range);
  }
  kernels::UpdateReach operator()(const BoundRule::RmsProp& rule) const {
    float* moment = rule.moment ? slots[1] : nullptr;
    float* average = rule.centered ? slots[rule.moment ? 2 : 1] : nullptr;
    return kernels::update_rms_prop(step, rule.scalars, w, g, slots[0], average, moment, range);
  }
  kernels::UpdateReach operator()(const BoundRule::Adagrad& rule) const {
    return kernels::update_adagrad(step, rule.epsilon, w, g, slots[0], range);
  }
  kernels::UpdateReach operator()(const kernels::Adadelta& rule) const {
    return kernels::update_adadelta(step, rule, w, g, slots[0], slots[1], range);
  }
  kernels::UpdateReach operator()(const kernels::Adamax& rule) const {
    return kernels::update_adamax(step, rule, w, g, slots[0], slots[1], range);
  }
  kernels::UpdateReach operator()(const kernels::Nadam& rule) const {
    return kernels::update_nadam(step, rule, w, g, slots[0], slots[1], range);
  }
  kernels::UpdateReach operator()(const kernels::Lion& rule) const {
    return kernels::update_lion(step, rule, w, g, slots[0], range);
  }
};

}  // namespace

int UpdateRule::slots() const {
  switch (kind) {
    case Kind::sgd:
      return momentum != 0 ? 1 : 0;
    case Kind::adam:
      return amsgrad ? 3 : 2;
    case Kind::rms_prop:
      return 1 + (momentum != 0 ? 1 : 0) + (centered ? 1 : 0);
    case Kind::adagrad:
    case Kind::lion:
      return 1;
    case Kind::adadelta:
    case Kind::adamax:
    case Kind::nadam:
      return 2;
  }
  return 0;
}

// The rules divide by a root or a norm plus epsilon: without one, 0 / 0 is NaN.
bool UpdateRule::rests() const {
  if (kind == Kind::adagrad) return single(epsilon) > 0;
  return kind == Kind::sgd && momentum == 0;
}

bool UpdateRule::rests_at_zero() const {
  return kind == Kind::sgd || kind == Kind::lion || single(epsilon) > 0;
}

// What Keras computes from Python numbers (1 - rho) is formed in double and rounded once; what it
// computes from tensors (the powers of beta; 1 - beta of Nadam and Lion) in float32 throughout.
BoundRule::BoundRule(const UpdateRule& rule, float learning_rate, int64_t iterations, float product)
    : product_(product) {
  const auto t = static_cast<float>(iterations + 1);
  const float beta_1 = single(rule.beta_1), beta_2 = single(rule.beta_2);
  const float rho = single(rule.rho), one_minus_rho = single(1 - rule.rho);
  const float epsilon = single(rule.epsilon), momentum = single(rule.momentum);
  switch (rule.kind) {
    case Kind::sgd:
      if (rule.momentum != 0) bound_ = kernels::Momentum{momentum, rule.nesterov};
      break;
    case Kind::adam:
      bind_adam(rule, learning_rate, t);
      break;
    case Kind::rms_prop:
      bound_ = RmsProp{{rho, one_minus_rho, momentum, epsilon}, rule.momentum != 0, rule.centered};
      break;
    case Kind::adagrad:
      bound_ = Adagrad{epsilon};
      break;
    case Kind::adadelta:
      bound_ = kernels::Adadelta{rho, one_minus_rho, epsilon};
      break;
    case Kind::adamax:
      bound_ = kernels::Adamax{single(1 - rule.beta_1), beta_2, 1 - std::pow(beta_1, t), epsilon};
      break;
    case Kind::nadam:
      bind_nadam(rule, t);
      break;
    case Kind::lion:
      bound_ = kernels::Lion{beta_1, 1 - beta_1, beta_2, 1 - beta_2};
      break;
  }
}

void BoundRule::bind_adam(const UpdateRule& rule, float learning_rate, float t) {
  const float power_1 = std::pow(single(rule.beta_1), t);
  const float power_2 = std::pow(single(rule.beta_2), t);
  bound_ = kernels::Adam{.alpha = learning_rate * std::sqrt(1 - power_2) / (1 - power_1),
                         .one_minus_beta1 = single(1 - rule.beta_1),
                         .one_minus_beta2 = single(1 - rule.beta_2),
                         .epsilon = single(rule.epsilon)};
}

void BoundRule::bind_nadam(const UpdateRule& rule, float t) {
  const float beta_1 = single(rule.beta_1), beta_2 = single(rule.beta_2);
  const float fade = 1 - 0.5f * std::pow(0.96f, t);
  const float u_next = beta_1 * (1 - 0.5f * std::pow(0.96f, t + 1));
  product_ = product_ * beta_1 * fade;
  bound_ = kernels::Nadam{.one_minus_beta1 = 1 - beta_1,
                          .one_minus_beta2 = 1 - beta_2,
                          .u_next = u_next,
                          .one_minus_u = 1 - beta_1 * fade,
                          .one_minus_product = 1 - product_,
                          .one_minus_product_next = 1 - product_ * u_next,
                          .one_minus_beta2_power = 1 - std::pow(beta_2, t),
                          .epsilon = single(rule.epsilon)};
}

kernels::UpdateReach BoundRule::run(const kernels::UpdateStep& step, float* w, const float* g,
                                    float* const* slots,
                                    const kernels::UpdateRange& range) const noexcept {
  return std::visit(Loop{step, w, g, slots, range}, bound_);
}

}  // namespace snug::ops
