// The mathematical functions of unary.h, one struct each: forward(x) and gradient(saved, dy).
// kReadsOutput says whether `saved` is the output; kParameters how many floats the constructor
// reads.
#if defined(SNUG_KERNELS_UNARY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SNUG_KERNELS_UNARY_INL_H_
#undef SNUG_KERNELS_UNARY_INL_H_
#else
#define SNUG_KERNELS_UNARY_INL_H_
#endif

#include "snug/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace snug::kernels::HWY_NAMESPACE {

struct ReadsInput {
  static constexpr bool kReadsOutput = false;
  static constexpr int kParameters = 0;
  explicit ReadsInput(const float*) {}
};

struct ReadsOutput {
  static constexpr bool kReadsOutput = true;
  static constexpr int kParameters = 0;
  explicit ReadsOutput(const float*) {}
};

// `value`, or NaN where `saved` is NaN.
HWY_INLINE V unless_nan(V saved, V value) { return hn::IfThenElse(hn::IsNaN(saved), saved, value); }

struct Negate : ReadsInput {
  using ReadsInput::ReadsInput;
  HWY_INLINE V forward(V x) const { return hn::Neg(x); }
  HWY_INLINE V gradient(V, V dy) const { return hn::Neg(dy); }
};

struct Abs : ReadsInput {
  using ReadsInput::ReadsInput;
  HWY_INLINE V forward(V x) const { return hn::Abs(x); }
  HWY_INLINE V gradient(V x, V dy) const {
    const V signed_dy = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Neg(dy), dy);
    return unless_nan(x, hn::IfThenZeroElse(hn::Eq(x, hn::Zero(d)), signed_dy));
  }
};

struct Square : ReadsInput {
  using ReadsInput::ReadsInput;
  HWY_INLINE V forward(V x) const { return hn::Mul(x, x); }
  HWY_INLINE V gradient(V x, V dy) const { return hn::Mul(hn::Add(x, x), dy); }
};

struct Sqrt : ReadsOutput {
  using ReadsOutput::ReadsOutput;
  HWY_INLINE V forward(V x) const { return hn::Sqrt(x); }
  HWY_INLINE V gradient(V y, V dy) const { return hn::Div(hn::Mul(set(0.5f), dy), y); }
};

struct Rsqrt : ReadsOutput {
  using ReadsOutput::ReadsOutput;
  HWY_INLINE V forward(V x) const { return hn::Div(set(1.0f), hn::Sqrt(x)); }
  HWY_INLINE V gradient(V y, V dy) const {
    return hn::Mul(hn::Mul(hn::Mul(y, y), y), hn::Mul(set(-0.5f), dy));
  }
};

struct Reciprocal : ReadsOutput {
  using ReadsOutput::ReadsOutput;
  HWY_INLINE V forward(V x) const { return hn::Div(set(1.0f), x); }
  HWY_INLINE V gradient(V y, V dy) const { return hn::Neg(hn::Mul(hn::Mul(y, y), dy)); }
};

struct Exp : ReadsOutput {
  using ReadsOutput::ReadsOutput;
  HWY_INLINE V forward(V x) const { return exp(x); }
  HWY_INLINE V gradient(V y, V dy) const { return hn::Mul(y, dy); }
};

struct Expm1 : ReadsOutput {
  using ReadsOutput::ReadsOutput;
  HWY_INLINE V forward(V x) const { return expm1(x); }
  HWY_INLINE V gradient(V y, V dy) const { return hn::Mul(hn::Add(y, set(1.0f)), dy); }
};

struct Log : ReadsInput {
  using ReadsInput::ReadsInput;
  HWY_INLINE V forward(V x) const { return log(x); }
  HWY_INLINE V gradient(V x, V dy) const { return hn::Div(dy, x); }
};

struct Log1p : ReadsInput {
  using ReadsInput::ReadsInput;
  HWY_INLINE V forward(V x) const { return log1p(x); }
  HWY_INLINE V gradient(V x, V dy) const { return hn::Div(dy, hn::Add(x, set(1.0f))); }
};

struct Sign : ReadsInput {
  using ReadsInput::ReadsInput;
  HWY_INLINE V forward(V x) const {
    const M number = hn::Ne(hn::Abs(x), hn::Zero(d));
    return hn::IfThenElse(hn::And(number, hn::Eq(x, x)), hn::CopySign(set(1.0f), x), x);
  }
  HWY_INLINE V gradient(V x, V) const { return unless_nan(x, hn::Zero(d)); }
};

struct Floor : ReadsInput {
  using ReadsInput::ReadsInput;
  HWY_INLINE V forward(V x) const { return hn::Floor(x); }
  HWY_INLINE V gradient(V x, V) const { return unless_nan(x, hn::Zero(d)); }
};

struct Sin : ReadsInput {
  using ReadsInput::ReadsInput;
  HWY_INLINE V forward(V x) const { return sin(x); }
  HWY_INLINE V gradient(V x, V dy) const { return hn::Mul(cos(x), dy); }
};

struct Cos : ReadsInput {
  using ReadsInput::ReadsInput;
  HWY_INLINE V forward(V x) const { return cos(x); }
  HWY_INLINE V gradient(V x, V dy) const { return hn::Neg(hn::Mul(sin(x), dy)); }
};

struct Erf : ReadsInput {
  using ReadsInput::ReadsInput;
  HWY_INLINE V forward(V x) const { return erf(x); }
  HWY_INLINE V gradient(V x, V dy) const {
    return hn::Mul(hn::Mul(set(1.12837917f), exp(hn::Neg(hn::Mul(x, x)))), dy);
  }
};

struct Clip : ReadsInput {
  static constexpr int kParameters = 2;
  explicit Clip(const float* p) : ReadsInput(p), low(set(p[0])), high(set(p[1])) {}
  HWY_INLINE V forward(V x) const { return least(greatest(x, low), high); }
  HWY_INLINE V gradient(V x, V dy) const {
    const M inside = hn::And(hn::Ge(x, low), hn::Le(x, high));
    return unless_nan(x, hn::IfThenElseZero(inside, dy));
  }
  V low, high;
};

}  // namespace snug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the toggle of the include guard
