// One pass over weights, gradients and slots for each optimizer, in the float32 steps of Keras
// (docs: keras.md 4.6), operation by operation and without fused multiply-adds, so that a
// trajectory of Keras is met bit for bit where its scalars are. The caller computes the scalars of
// the step (bias corrections and so on) in float32.
#pragma once

#include <cstdint>
#include <limits>

namespace snug::kernels {

// What all rules share. The gradient is first multiplied by gradient_scale, then clipped to
// [-clip_value, clip_value]; then w -= w * weight_decay * learning_rate; then the rule.
struct UpdateStep {
  float learning_rate = 0;
  float gradient_scale = 1;
  float clip_value = std::numeric_limits<float>::infinity();
  float weight_decay = 0;
  // Other cores have read the weights since they were written last, and it pays to take them back
  // before they are written.
  bool takes_back = false;
};

// The largest |w| and the largest |slot| that were written; NaN if a NaN was written.
struct UpdateReach {
  float weight = 0;
  float slot = 0;
};

// The elements that a pass updates: `columns` of them side by side, or those of each of `count`
// rows of a table of so many columns. A row's gradient is the row of `g` with its place in the
// list, or, with `one_gradient`, the first one for all.
struct UpdateRange {
  UpdateRange(int64_t n) : columns(n) {}
  UpdateRange(const int32_t* rows, int64_t count, int64_t columns, bool one_gradient)
      : rows(rows), count(count), columns(columns), one_gradient(one_gradient) {}

  const int32_t* rows = nullptr;
  int64_t count = 1;
  int64_t columns;
  bool one_gradient = false;
};

// w -= g * lr
UpdateReach update_sgd(const UpdateStep& step, float* w, const float* g,
                       const UpdateRange& range) noexcept;

// m = m * momentum - g * lr; w += nesterov ? m * momentum - g * lr : m
struct Momentum {
  float momentum = 0.9f;
  bool nesterov = false;
};
UpdateReach update_sgd_momentum(const UpdateStep& step, const Momentum& rule, float* w,
                                const float* g, float* m, const UpdateRange& range) noexcept;

// m += (g - m) * one_minus_beta1; v += (g * g - v) * one_minus_beta2;
// w -= m * alpha / (sqrt(v) + epsilon). With largest_v (AMSGrad), its running maximum of v takes
// the place of v in the last line; null without.
struct Adam {
  float alpha = 0;  // lr * sqrt(1 - beta2^t) / (1 - beta1^t), in float32
  float one_minus_beta1 = 0.1f;
  float one_minus_beta2 = 0.001f;
  float epsilon = 1e-7f;
};
UpdateReach update_adam(const UpdateStep& step, const Adam& rule, float* w, const float* g,
                        float* m, float* v, float* largest_v, const UpdateRange& range) noexcept;

// v = rho * v + one_minus_rho * g^2; with average (centered): average = rho * average +
// one_minus_rho * g, and d = v - average^2 + epsilon, else d = v + epsilon; with moment: moment =
// momentum * moment + lr * g / sqrt(d), w -= moment, else w -= lr * g / sqrt(d).
struct RmsProp {
  float rho = 0.9f;
  float one_minus_rho = 0.1f;
  float momentum = 0;
  float epsilon = 1e-7f;
};
UpdateReach update_rms_prop(const UpdateStep& step, const RmsProp& rule, float* w, const float* g,
                            float* v, float* average, float* moment,
                            const UpdateRange& range) noexcept;

// a += g^2; w -= lr * g / sqrt(a + epsilon)
UpdateReach update_adagrad(const UpdateStep& step, float epsilon, float* w, const float* g,
                           float* a, const UpdateRange& range) noexcept;

// a = rho * a + one_minus_rho * g^2; d = -sqrt(D + epsilon) * g / sqrt(a + epsilon);
// D = rho * D + one_minus_rho * d^2; w += lr * d
struct Adadelta {
  float rho = 0.95f;
  float one_minus_rho = 0.05f;
  float epsilon = 1e-7f;
};
UpdateReach update_adadelta(const UpdateStep& step, const Adadelta& rule, float* w, const float* g,
                            float* a, float* d, const UpdateRange& range) noexcept;

// m += (g - m) * one_minus_beta1; u = max(beta2 * u, |g|);
// w -= lr * m / (one_minus_beta1_power * (u + epsilon))
struct Adamax {
  float one_minus_beta1 = 0.1f;
  float beta2 = 0.999f;
  float one_minus_beta1_power = 0.1f;  // 1 - beta1^t
  float epsilon = 1e-7f;
};
UpdateReach update_adamax(const UpdateStep& step, const Adamax& rule, float* w, const float* g,
                          float* m, float* u, const UpdateRange& range) noexcept;

// m and v as Adam; mhat = u_next * m / one_minus_product_next + one_minus_u * g /
// one_minus_product; vhat = v / one_minus_beta2_power; w -= mhat * lr / (sqrt(vhat) + epsilon)
struct Nadam {
  float one_minus_beta1 = 0.1f;
  float one_minus_beta2 = 0.001f;
  float u_next = 0;                  // u of step t + 1
  float one_minus_u = 0;             // 1 - u of step t
  float one_minus_product = 0;       // 1 - the product of u up to step t
  float one_minus_product_next = 0;  // 1 - the product of u up to step t + 1
  float one_minus_beta2_power = 0;   // 1 - beta2^t
  float epsilon = 1e-7f;
};
UpdateReach update_nadam(const UpdateStep& step, const Nadam& rule, float* w, const float* g,
                         float* m, float* v, const UpdateRange& range) noexcept;

// w -= lr * sign(m * beta1 + g * one_minus_beta1); m = m * beta2 + g * one_minus_beta2
struct Lion {
  float beta1 = 0.9f;
  float one_minus_beta1 = 0.1f;
  float beta2 = 0.99f;
  float one_minus_beta2 = 0.01f;
};
UpdateReach update_lion(const UpdateStep& step, const Lion& rule, float* w, const float* g,
                        float* m, const UpdateRange& range) noexcept;

// average = momentum * average + (1 - momentum) * w
void update_ema(float momentum, const float* w, float* average, int64_t n) noexcept;

// y += a * x, with fused multiply-adds where the machine has them.
void axpy(float a, const float* x, float* y, int64_t n) noexcept;

}  // namespace snug::kernels
