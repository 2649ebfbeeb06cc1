// The rules by which optimizers change weights: as data, and bound to the scalars of one update.
#pragma once

#include <cstdint>
#include <variant>

#include "snug/kernels/update.h"

namespace snug::ops {

// A rule with its settings as Keras holds them, in double. Those that a rule does not have are not
// read. Its slots, in order:
//   sgd       [momentum, if the setting is not 0]
//   adam      momentum, velocity, [largest velocity, with amsgrad]
//   rms_prop  velocity, [momentum, if the setting is not 0], [average gradient, if centered]
//   adagrad   accumulator          adadelta  accumulated gradient, accumulated delta
//   adamax    momentum, norm       nadam     momentum, velocity       lion  momentum
struct UpdateRule {
  enum class Kind : uint8_t { sgd, adam, rms_prop, adagrad, adadelta, adamax, nadam, lion };
  static constexpr int kMostSlots = 3;

  Kind kind = Kind::sgd;
  double momentum = 0;
  bool nesterov = false;
  double rho = 0.9;
  bool centered = false;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  bool amsgrad = false;
  bool lazy = false;  // Of a row gradient: rows without a gradient stay as they are.

  int slots() const;
  // Nadam keeps the product of its momentum factors beside the slots: float32 [], 1 at the start.
  bool has_product() const { return kind == Kind::nadam; }
  // Whether an element without a gradient keeps its weight and slots, whatever these hold.
  bool rests() const;
  // Whether it does as long as its slots are 0.
  bool rests_at_zero() const;
};

// A rule at one update. All scalars are formed in float32, in Keras's order of operations.
class BoundRule {
 public:
  // `iterations` counts the updates before this one; `product` is Nadam's before this update.
  BoundRule(const UpdateRule& rule, float learning_rate, int64_t iterations, float product = 1);

  float product() const { return product_; }  // Nadam's, this update included.

  // Updates the weights of a range; `slots` points at each slot's elements.
  kernels::UpdateReach run(const kernels::UpdateStep& step, float* w, const float* g,
                           float* const* slots, const kernels::UpdateRange& range) const noexcept;

  struct Sgd {};
  struct RmsProp {
    kernels::RmsProp scalars;
    bool moment = false, centered = false;
  };
  struct Adagrad {
    float epsilon = 0;
  };

 private:
  void bind_adam(const UpdateRule& rule, float learning_rate, float t);
  void bind_nadam(const UpdateRule& rule, float t);

  std::variant<Sgd, kernels::Momentum, kernels::Adam, RmsProp, Adagrad, kernels::Adadelta,
               kernels::Adamax, kernels::Nadam, kernels::Lion>
      bound_;
  float product_ = 1;
};

}  // namespace snug::ops
