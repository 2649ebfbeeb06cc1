#include "snug/ops/update_bound.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>

namespace snug::ops {
namespace {

using Kind = UpdateRule::Kind;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Infinity where one of them is NaN, which std::max may pass over.
double largest(std::initializer_list<double> terms) {
  double most = 0;
  for (const double term : terms) most = std::isnan(term) ? kInfinity : std::max(most, term);
  return most;
}

// As the update forms it, in float32: of a beta near 1 nothing is left.
double one_less_power(double beta, double t) {
  return 1 - std::pow(static_cast<float>(beta), static_cast<float>(t));
}

// Magnitudes on the way of one update. Averages stay within what goes into them.
struct Reach {
  const UpdateRule& rule;
  double rate, gradient, weight, slot;
  double t;  // This update's number, from 1.

  double moment() const { return gradient + slot; }
  double square() const { return gradient * gradient + slot; }

  double sgd() const {
    const double move = rate * gradient;
    const double momentum = std::abs(rule.momentum) * slot + move;
    return weight + momentum * (1 + std::abs(rule.momentum)) + move;
  }
  double adam() const {
    const double power_1 = one_less_power(rule.beta_1, t), power_2 = one_less_power(rule.beta_2, t);
    const double top = moment() * rate * std::sqrt(power_2) / power_1;
    return largest({square(), moment(), top, weight + top / rule.epsilon});
  }
  // The second moment holds at least its share of this gradient's square.
  double rms_prop() const {
    // v - average^2 is a difference of rounded numbers: only where these are small against epsilon
    // is it known to stay above zero.
    constexpr double kRounding = 1e-6;
    if (rule.centered && square() * kRounding > rule.epsilon / 2) return kInfinity;
    const double move = rate * gradient / std::sqrt(rule.epsilon / 2);
    return largest({square(), weight + std::abs(rule.momentum) * slot + move});
  }
  double adagrad() const {
    return largest({square(), weight + rate * gradient / std::sqrt(rule.epsilon)});
  }
  double adadelta() const {
    const double top = std::sqrt(slot + rule.epsilon) * gradient;
    const double move = top / std::sqrt(rule.epsilon);
    return largest({square(), top, move * move + slot, weight + rate * move});
  }
  double adamax() const {
    const double top = moment() * rate;
    return largest({moment(), top, weight + top / (one_less_power(rule.beta_1, t) * rule.epsilon)});
  }
  double nadam(double product) const {
    const double fade = 1 - 0.5 * std::pow(0.96, t);
    const double u_next = rule.beta_1 * (1 - 0.5 * std::pow(0.96, t + 1));
    const double so_far = product * rule.beta_1 * fade;
    const double mean = u_next * moment() / (1 - so_far * u_next) + gradient / (1 - so_far);
    return largest({square() / one_less_power(rule.beta_2, t), moment(), mean, mean * rate,
                    weight + mean * rate / rule.epsilon});
  }
  double lion() const { return largest({moment(), weight + rate}); }
};

}  // namespace

double update_bound(const UpdateRule& rule, const UpdateScalars& scalars,
                    const UpdateReaches& reaches) {
  // A gradient of NaN would be clipped to a number.
  if (std::isnan(reaches.gradient)) return kInfinity;
  // Without an epsilon, or with one that is taken for zero (denormal), a rule may divide zero by
  // zero.
  const bool divides = rule.kind != Kind::sgd && rule.kind != Kind::lion;
  if (divides && !(rule.epsilon >= std::numeric_limits<float>::min())) return kInfinity;
  const double rate = std::abs(scalars.learning_rate);
  const double decayed = reaches.weight * (1 + std::abs(scalars.weight_decay) * rate);
  const Reach reach{.rule = rule,
                    .rate = rate,
                    .gradient = std::min(reaches.gradient, scalars.clip_value),
                    .weight = decayed,
                    .slot = reaches.slot,
                    .t = static_cast<double>(scalars.iterations + 1)};
  const double bound = [&] {
    switch (rule.kind) {
      case Kind::sgd:
        return reach.sgd();
      case Kind::adam:
        return reach.adam();
      case Kind::rms_prop:
        return reach.rms_prop();
      case Kind::adagrad:
        return reach.adagrad();
      case Kind::adadelta:
        return reach.adadelta();
      case Kind::adamax:
        return reach.adamax();
      case Kind::nadam:
        return reach.nadam(scalars.product);
      case Kind::lion:
        return reach.lion();
    }
    return kInfinity;
  }();
  // Zero times infinity, zero by zero: nothing is known.
  return std::isnan(bound) ? kInfinity : bound;
}

}  // namespace snug::ops
