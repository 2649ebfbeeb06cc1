// The activations of unary.h, in the form that unary-inl.h describes.
#if defined(SNUG_KERNELS_ACTIVATION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SNUG_KERNELS_ACTIVATION_INL_H_
#undef SNUG_KERNELS_ACTIVATION_INL_H_
#else
#define SNUG_KERNELS_ACTIVATION_INL_H_
#endif

#include "snug/kernels/gelu-inl.h"
#include "snug/kernels/unary-inl.h"

HWY_BEFORE_NAMESPACE();
namespace snug::kernels::HWY_NAMESPACE {

// Activations with one parameter.
struct OneParameter {
  static constexpr int kParameters = 1;
  explicit OneParameter(const float* p) : parameter(set(p[0])) {}
  V parameter;
};

HWY_INLINE M positive(V x) { return hn::Gt(x, hn::Zero(d)); }

struct Relu : ReadsOutput {
  using ReadsOutput::ReadsOutput;
  HWY_INLINE V forward(V x) const { return hn::IfThenZeroElse(hn::Lt(x, hn::Zero(d)), x); }
  // What is not positive in y is 0 or NaN: just what the gradient is there.
  HWY_INLINE V gradient(V y, V dy) const { return hn::IfThenElse(positive(y), dy, y); }
};

struct GeneralRelu {
  static constexpr bool kReadsOutput = false;
  static constexpr int kParameters = 3;
  explicit GeneralRelu(const float* p) : highest(set(p[0])), slope(set(p[1])), edge(set(p[2])) {}
  HWY_INLINE V forward(V x) const {
    const V below = hn::Mul(slope, hn::Sub(x, edge));
    // With slope 0 an infinite x would give NaN below the edge.
    const V bent = hn::IfThenElse(hn::Eq(slope, hn::Zero(d)), hn::Zero(d), below);
    return unless_nan(x, hn::IfThenElse(hn::Gt(x, edge), least(x, highest), bent));
  }
  HWY_INLINE V gradient(V x, V dy) const {
    const V above = hn::IfThenZeroElse(hn::Gt(x, highest), dy);
    return unless_nan(x, hn::IfThenElse(hn::Gt(x, edge), above, hn::Mul(slope, dy)));
  }
  V highest, slope, edge;
};

struct LeakyRelu : OneParameter {
  static constexpr bool kReadsOutput = true;
  using OneParameter::OneParameter;
  HWY_INLINE V forward(V x) const { return hn::IfThenElse(positive(x), x, hn::Mul(parameter, x)); }
  HWY_INLINE V gradient(V y, V dy) const {
    return unless_nan(y, hn::IfThenElse(positive(y), dy, hn::Mul(parameter, dy)));
  }
};

struct Relu6 : ReadsOutput {
  using ReadsOutput::ReadsOutput;
  HWY_INLINE V forward(V x) const { return least(greatest(x, hn::Zero(d)), set(6.0f)); }
  HWY_INLINE V gradient(V y, V dy) const {
    const M inside = hn::And(positive(y), hn::Lt(y, set(6.0f)));
    return unless_nan(y, hn::IfThenElseZero(inside, dy));
  }
};

struct Elu : OneParameter {
  static constexpr bool kReadsOutput = true;
  using OneParameter::OneParameter;
  HWY_INLINE V forward(V x) const {
    return hn::IfThenElse(positive(x), x, hn::Mul(parameter, expm1(x)));
  }
  HWY_INLINE V gradient(V y, V dy) const {
    return hn::IfThenElse(positive(y), dy, hn::Mul(hn::Add(y, parameter), dy));
  }
};

struct Selu : ReadsOutput {
  using ReadsOutput::ReadsOutput;
  static constexpr float kScale = 1.05070099f;
  static constexpr float kScaleAlpha = 1.75809934f;
  HWY_INLINE V forward(V x) const {
    const V below = hn::Mul(set(kScaleAlpha), expm1(x));
    return hn::IfThenElse(positive(x), hn::Mul(set(kScale), x), below);
  }
  HWY_INLINE V gradient(V y, V dy) const {
    return hn::Mul(hn::IfThenElse(positive(y), set(kScale), hn::Add(y, set(kScaleAlpha))), dy);
  }
};

struct Gelu : ReadsInput {
  using ReadsInput::ReadsInput;
  HWY_INLINE V forward(V x) const { return hn::Mul(x, gelu_share(x)); }
  HWY_INLINE V gradient(V x, V dy) const { return hn::Mul(gelu_slope(x), dy); }
};

struct GeluTanh : ReadsInput {
  using ReadsInput::ReadsInput;
  HWY_INLINE V forward(V x) const { return hn::Mul(x, gelu_tanh_share(x)); }
  HWY_INLINE V gradient(V x, V dy) const { return hn::Mul(gelu_tanh_slope(x), dy); }
};

struct Silu : ReadsInput {
  using ReadsInput::ReadsInput;
  HWY_INLINE V forward(V x) const { return hn::Mul(x, sigmoid(x)); }
  HWY_INLINE V gradient(V x, V dy) const {
    const V s = sigmoid(x);
    return hn::Mul(hn::Mul(s, hn::MulAdd(x, hn::Sub(set(1.0f), s), set(1.0f))), dy);
  }
};

struct Sigmoid : ReadsOutput {
  using ReadsOutput::ReadsOutput;
  HWY_INLINE V forward(V x) const { return sigmoid(x); }
  HWY_INLINE V gradient(V y, V dy) const { return hn::Mul(hn::Mul(y, hn::Sub(set(1.0f), y)), dy); }
};

HWY_INLINE V hard_sigmoid(V x) {
  const V moved = hn::Add(x, set(3.0f));
  return hn::Mul(least(greatest(moved, hn::Zero(d)), set(6.0f)), set(1.0f / 6));
}

struct HardSigmoid : ReadsOutput {
  using ReadsOutput::ReadsOutput;
  HWY_INLINE V forward(V x) const { return hard_sigmoid(x); }
  HWY_INLINE V gradient(V y, V dy) const {
    const M inside = hn::And(positive(y), hn::Lt(y, set(1.0f)));
    return unless_nan(y, hn::IfThenElseZero(inside, hn::Mul(set(1.0f / 6), dy)));
  }
};

struct HardSilu : ReadsInput {
  using ReadsInput::ReadsInput;
  HWY_INLINE V forward(V x) const { return hn::Mul(x, hard_sigmoid(x)); }
  HWY_INLINE V gradient(V x, V dy) const {
    const M inside = hn::Lt(hn::Abs(x), set(3.0f));
    const V bend = hn::IfThenElseZero(inside, hn::Mul(set(1.0f / 6), x));
    return hn::Mul(hn::Add(hard_sigmoid(x), bend), dy);
  }
};

struct Tanh : ReadsOutput {
  using ReadsOutput::ReadsOutput;
  HWY_INLINE V forward(V x) const { return tanh(x); }
  HWY_INLINE V gradient(V y, V dy) const { return hn::Mul(hn::NegMulAdd(y, y, set(1.0f)), dy); }
};

struct Softplus : ReadsOutput {
  using ReadsOutput::ReadsOutput;
  HWY_INLINE V forward(V x) const { return softplus(x); }
  // sigmoid(x) = 1 - exp(-y).
  HWY_INLINE V gradient(V y, V dy) const { return hn::Neg(hn::Mul(expm1(hn::Neg(y)), dy)); }
};

struct Softsign : ReadsOutput {
  using ReadsOutput::ReadsOutput;
  HWY_INLINE V forward(V x) const { return hn::Div(x, hn::Add(set(1.0f), hn::Abs(x))); }
  HWY_INLINE V gradient(V y, V dy) const {
    const V rest = hn::Sub(set(1.0f), hn::Abs(y));
    return hn::Mul(hn::Mul(rest, rest), dy);
  }
};

// tanh(softplus(x)) = n / (n + 2) with n = e (e + 2), e = exp(x); it is 1 from x = 20 on.
struct Mish : ReadsInput {
  using ReadsInput::ReadsInput;
  HWY_INLINE V forward(V x) const {
    const V e = exp(least(x, set(20.0f)));
    const V n = hn::Mul(e, hn::Add(e, set(2.0f)));
    return hn::Mul(x, hn::Div(n, hn::Add(n, set(2.0f))));
  }
  HWY_INLINE V gradient(V x, V dy) const {
    const V e = exp(least(x, set(20.0f)));
    const V n = hn::Mul(e, hn::Add(e, set(2.0f)));
    const V r = hn::Div(set(1.0f), hn::Add(n, set(2.0f)));
    // 1 - tanh^2 = 4 (n + 1) r^2 and sigmoid(x) = e / (1 + e), with n + 1 = (1 + e)^2.
    const V four_e_r = hn::Mul(hn::Mul(set(4.0f), e), r);
    const V bend = hn::Mul(hn::Mul(four_e_r, r), hn::Add(set(1.0f), e));
    return hn::Mul(hn::MulAdd(x, bend, hn::Mul(n, r)), dy);
  }
};

struct LogSigmoid : ReadsOutput {
  using ReadsOutput::ReadsOutput;
  HWY_INLINE V forward(V x) const { return hn::Neg(softplus(hn::Neg(x))); }
  HWY_INLINE V gradient(V y, V dy) const { return hn::Neg(hn::Mul(expm1(y), dy)); }
};

struct Celu : OneParameter {
  static constexpr bool kReadsOutput = true;
  explicit Celu(const float* p) : OneParameter(p), inverse(set(1.0f / p[0])) {}
  HWY_INLINE V forward(V x) const {
    return hn::IfThenElse(positive(x), x, hn::Mul(parameter, expm1(hn::Mul(x, inverse))));
  }
  HWY_INLINE V gradient(V y, V dy) const {
    // The sum is exact where y comes near -alpha: 0 where the function is flat, and never negative.
    const V below = hn::Mul(hn::Add(y, parameter), inverse);
    return hn::IfThenElse(positive(y), dy, hn::Mul(below, dy));
  }
  V inverse;
};

struct HardTanh : ReadsInput {
  using ReadsInput::ReadsInput;
  HWY_INLINE V forward(V x) const { return least(greatest(x, set(-1.0f)), set(1.0f)); }
  HWY_INLINE V gradient(V x, V dy) const {
    return unless_nan(x, hn::IfThenElseZero(hn::Le(hn::Abs(x), set(1.0f)), dy));
  }
};

struct TanhShrink : ReadsInput {
  using ReadsInput::ReadsInput;
  // Near 0 the difference cancels: there the series x^3 / 3 - 2 x^5 / 15 + 17 x^7 / 315.
  HWY_INLINE V forward(V x) const {
    const V xx = hn::Mul(x, x);
    constexpr float kSeries[] = {0.333333333f, -0.133333333f, 0.0539682540f, -0.0218694885f};
    const V series = hn::Mul(hn::Mul(xx, x), polynomial(xx, kSeries));
    return hn::IfThenElse(hn::Lt(hn::Abs(x), set(0.2f)), series, hn::Sub(x, tanh(x)));
  }
  HWY_INLINE V gradient(V x, V dy) const {
    const V t = tanh(x);
    return hn::Mul(hn::Mul(t, t), dy);
  }
};

struct SoftShrink : OneParameter {
  static constexpr bool kReadsOutput = true;
  using OneParameter::OneParameter;
  HWY_INLINE V forward(V x) const {
    const V moved = hn::Sub(x, hn::CopySign(parameter, x));
    return unless_nan(x, hn::IfThenElseZero(hn::Gt(hn::Abs(x), parameter), moved));
  }
  HWY_INLINE V gradient(V y, V dy) const {
    return unless_nan(y, hn::IfThenZeroElse(hn::Eq(y, hn::Zero(d)), dy));
  }
};

struct HardShrink : OneParameter {
  static constexpr bool kReadsOutput = true;
  using OneParameter::OneParameter;
  HWY_INLINE V forward(V x) const { return hn::IfThenZeroElse(hn::Le(hn::Abs(x), parameter), x); }
  HWY_INLINE V gradient(V y, V dy) const {
    return unless_nan(y, hn::IfThenZeroElse(hn::Eq(y, hn::Zero(d)), dy));
  }
};

// For x < 0 the sum cancels: there b / (2 (root - x)), which is the same.
struct Squareplus : OneParameter {
  static constexpr bool kReadsOutput = false;
  using OneParameter::OneParameter;
  HWY_INLINE V value(V x, V root) const {
    const V below = hn::Div(parameter, hn::Add(hn::Sub(root, x), hn::Sub(root, x)));
    return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), below, hn::Mul(set(0.5f), hn::Add(x, root)));
  }
  HWY_INLINE V forward(V x) const { return value(x, hn::Sqrt(hn::MulAdd(x, x, parameter))); }
  HWY_INLINE V gradient(V x, V dy) const {
    const V root = hn::Sqrt(hn::MulAdd(x, x, parameter));
    return hn::Mul(hn::Div(value(x, root), root), dy);
  }
};

struct Threshold {
  static constexpr bool kReadsOutput = false;
  static constexpr int kParameters = 2;
  explicit Threshold(const float* p) : edge(set(p[0])), value(set(p[1])) {}
  HWY_INLINE V forward(V x) const { return hn::IfThenElse(hn::Le(x, edge), value, x); }
  HWY_INLINE V gradient(V x, V dy) const {
    return unless_nan(x, hn::IfThenElseZero(hn::Gt(x, edge), dy));
  }
  V edge, value;
};

}  // namespace snug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the toggle of the include guard
