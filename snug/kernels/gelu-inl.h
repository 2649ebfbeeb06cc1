// What gelu(x) is of x, and its slope, exactly and approximated by tanh as Keras has it. Each rises
// from 0 to 1 and is 1 less itself on the other side of 0.
#if defined(SNUG_KERNELS_GELU_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SNUG_KERNELS_GELU_INL_H_
#undef SNUG_KERNELS_GELU_INL_H_
#else
#define SNUG_KERNELS_GELU_INL_H_
#endif

#include "snug/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace snug::kernels::HWY_NAMESPACE {

// From its value at -|x|.
HWY_INLINE V rising(V x, V below) {
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), below, hn::Sub(set(1.0f), below));
}

#if SNUG_KERNELS_PIECES

HWY_INLINE V rising_pieces(V x, const Pieces& pieces) {
  const V a = hn::Abs(x);
  return rising(x, hn::IfThenZeroElse(beyond(a, pieces), in_pieces(a, pieces)));
}

HWY_INLINE V gelu_share(V x) { return rising_pieces(x, kGeluPieces); }
HWY_INLINE V gelu_slope(V x) { return rising_pieces(x, kGeluSlopePieces); }
HWY_INLINE V gelu_tanh_share(V x) { return rising_pieces(x, kGeluTanhPieces); }
HWY_INLINE V gelu_tanh_slope(V x) { return rising_pieces(x, kGeluTanhSlopePieces); }

#else

// exp(-a^2 / 2) and its integral from a >= 0 on, over the root of 2 pi. Both 0 beyond 13.
struct NormalTail {
  V bell;
  V tail;
};

HWY_INLINE NormalTail normal_tail(V a) {
  // 2^r for |r| <= 1/2, and the quotient of the two on [0, 13].
  constexpr float kPower[] = {1.0f,           0.693147182f,  0.240226477f,  0.0555033237f,
                              0.00961843692f, 0.0013398875f, 0.00015353362f};
  constexpr float kP[] = {0.5f, 0.434975743f, 0.180783674f, 0.0398086756f, 0.00399433868f};
  constexpr float kQ[] = {1.0f,        1.66783643f,   1.19230437f,
                          0.46299994f, 0.0997932106f, 0.0100121712f};
  const V square = hn::Mul(a, a), rate = set(-0.721347520f), magic = set(12582912.0f);
  const V t = hn::MulAdd(square, rate, magic);
  const V r = hn::MulSub(square, rate, hn::Sub(t, magic));
  const VI exponent = hn::ShiftLeft<23>(hn::BitCast(di, t));
  const V bell = hn::BitCast(d, hn::Add(hn::BitCast(di, horner(r, kPower)), exponent));
  const V tail = hn::Mul(bell, hn::Div(horner(a, kP), horner(a, kQ)));
  const M far = hn::Gt(a, set(13.0f));
  return {hn::IfThenZeroElse(far, bell), hn::IfThenZeroElse(far, tail)};
}

HWY_INLINE V gelu_share(V x) { return rising(x, normal_tail(hn::Abs(x)).tail); }

HWY_INLINE V gelu_slope(V x) {
  const NormalTail at = normal_tail(hn::Abs(x));
  const V density = hn::Mul(set(0.398942280f), at.bell);
  return hn::MulAdd(x, density, rising(x, at.tail));
}

// sigmoid(2 u) with u = sqrt(2 / pi) * (x + 0.044715 x^3): the same as (1 + tanh(u)) / 2.
constexpr float kTwice = 1.59576912f;  // 2 sqrt(2 / pi)
constexpr float kCubic = 0.044715f;

HWY_INLINE V gelu_tanh_share(V x) {
  const V inner = hn::MulAdd(hn::Mul(set(kCubic), hn::Mul(x, x)), x, x);
  return sigmoid(hn::Mul(set(kTwice), inner));
}

HWY_INLINE V gelu_tanh_slope(V x) {
  const V s = gelu_tanh_share(x);
  const V slope = hn::Mul(set(kTwice), hn::MulAdd(set(3 * kCubic), hn::Mul(x, x), set(1.0f)));
  return hn::MulAdd(hn::Mul(s, hn::Sub(set(1.0f), s)), hn::Mul(x, slope), s);
}

#endif

}  // namespace snug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the toggle of the include guard
