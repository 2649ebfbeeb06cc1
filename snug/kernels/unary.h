// Element-wise functions of one float32 array, and their gradients.
//
// All work on the stretch that they are given, on this thread, without memory of their own. The
// result may be written over an input (the same address exactly). NaN never vanishes: f(NaN) is NaN
// and so is the gradient where the saved value is NaN. Denormal results may be flushed to zero.
#pragma once

#include <cstdint>

namespace snug::kernels {

// What stands in braces are the parameters, in order. The activations are Keras's, the edges
// TensorFlow's.
enum class Unary : uint8_t {
  negate,
  abs,
  square,
  sqrt,
  rsqrt,
  reciprocal,
  exp,
  expm1,
  log,
  log1p,
  sign,  // NaN stays NaN, zeros keep their sign.
  floor,
  sin,
  cos,
  erf,
  relu,          // max(x, 0)
  general_relu,  // {max_value, negative_slope, threshold}, max_value may be infinity:
                 // x > threshold: min(x, max_value), else negative_slope * (x - threshold)
  leaky_relu,    // {negative_slope}, at least 0
  relu6,
  elu,  // {alpha}, at least 0
  selu,
  gelu,       // x * (1 + erf(x / sqrt(2))) / 2
  gelu_tanh,  // The approximation by tanh.
  silu,
  sigmoid,
  hard_sigmoid,  // relu6(x + 3) / 6
  hard_silu,     // x * hard_sigmoid(x)
  tanh,
  softplus,
  softsign,
  mish,
  log_sigmoid,
  celu,  // {alpha}, above 0
  hard_tanh,
  tanh_shrink,
  soft_shrink,  // {threshold}, at least 0
  hard_shrink,  // {threshold}, at least 0
  squareplus,   // {b}
  threshold,    // {threshold, value}: x > threshold: x, else value
  clip,         // {low, high}
  exponential = exp,
};
inline constexpr int kUnaryCount = static_cast<int>(Unary::clip) + 1;

// y[i] = f(x[i]); `parameters` is read only by functions that have some.
using UnaryFunction = void (*)(const float* x, float* y, int64_t n, const float* parameters);

// dx[i] = dy[i] * f'(x[i]), where `saved` is y if gradient_reads_output(f), else x.
using UnaryGradientFunction = void (*)(const float* saved, const float* dy, float* dx, int64_t n,
                                       const float* parameters);

// The functions for this machine; the answer never changes, so it can be kept.
UnaryFunction unary_function(Unary function) noexcept;
UnaryGradientFunction unary_gradient_function(Unary function) noexcept;

// Whether the gradient is computed from the output, so that the input need not be kept.
bool gradient_reads_output(Unary function) noexcept;

// How many floats `parameters` must hold.
int parameter_count(Unary function) noexcept;

}  // namespace snug::kernels
