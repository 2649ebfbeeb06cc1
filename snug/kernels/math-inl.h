// Elementary functions of float32 vectors, to a few units in the last place against double. NaN in
// gives NaN out, infinities have their limits, denormal results may be flushed to zero. The
// polynomials are interpolations at Chebyshev nodes of the stated ranges.
#if defined(SNUG_KERNELS_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SNUG_KERNELS_MATH_INL_H_
#undef SNUG_KERNELS_MATH_INL_H_
#else
#define SNUG_KERNELS_MATH_INL_H_
#endif

#include <cmath>
#include <limits>

#include "snug/kernels/pieces-inl.h"

HWY_BEFORE_NAMESPACE();
namespace snug::kernels::HWY_NAMESPACE {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kLeastNormal = std::numeric_limits<float>::min();
// ln 2 in two parts, the first short enough that its multiples by exponents are exact.
constexpr float kLn2High = 0.693359375f;
constexpr float kLn2Low = -2.12194440e-4f;

// c[0] + c[1] x + ..., in pairs and pairs of pairs, so that the chain of dependent steps is short.
template <int kCount>
HWY_INLINE V polynomial(V x, const float (&c)[kCount]) {
  constexpr int kPairs = (kCount + 1) / 2;
  V terms[kPairs];
  for (int i = 0; i < kPairs; ++i) {
    const V low = set(c[2 * i]);
    terms[i] = 2 * i + 1 < kCount ? hn::MulAdd(set(c[2 * i + 1]), x, low) : low;
  }
  for (int left = kPairs; left > 1; left = (left + 1) / 2) {
    x = hn::Mul(x, x);
    for (int i = 0; 2 * i < left; ++i) {
      terms[i] = 2 * i + 1 < left ? hn::MulAdd(terms[2 * i + 1], x, terms[2 * i]) : terms[2 * i];
    }
  }
  return terms[0];
}

// The same with the fewest steps: for loops whose steps do not wait for each other.
template <int kCount>
HWY_INLINE V horner(V x, const float (&c)[kCount]) {
  V y = set(c[kCount - 1]);
  for (int i = kCount - 2; i >= 0; --i) y = hn::MulAdd(y, x, set(c[i]));
  return y;
}

// exp(x) = 2^n * (1 + m), |m| < 0.42. The low bits of n_bits hold n.
struct ExpParts {
  V m;
  VI n_bits;
};

// (exp(r) - 1 - r) / r^2 for |r| <= ln 2 / 2.
constexpr float kExpRest[] = {0.5f, 0.16666577f, 0.0416665491f, 0.00836317905f, 0.00139265531f};

HWY_INLINE ExpParts exp_parts(V x) {
  const V magic = set(12582912.0f);  // 1.5 * 2^23: adding it rounds to an integer in the low bits.
  const V t = hn::MulAdd(x, set(1.44269504f), magic);
  const V n = hn::Sub(t, magic);
  const V r = hn::NegMulAdd(n, set(kLn2Low), hn::NegMulAdd(n, set(kLn2High), x));
  return {hn::MulAdd(hn::Mul(r, r), polynomial(r, kExpRest), r), hn::BitCast(di, t)};
}

// 2^(n + offset) from the low bits of n.
HWY_INLINE V power_of_two(VI n_bits, int offset) {
  return hn::BitCast(d, hn::Add(hn::ShiftLeft<23>(n_bits), hn::Set(di, (127 + offset) << 23)));
}

// exp for |x| < 87.
HWY_INLINE V exp_inner(V x) {
  const ExpParts parts = exp_parts(x);
  const V s = power_of_two(parts.n_bits, 0);
  return hn::MulAdd(parts.m, s, s);
}

#if HWY_TARGET == HWY_AVX3

// exp for x <= 89: here an instruction multiplies by powers of two, with infinity and zero at the
// ends. kExact: to the last bits for large |x|, too; otherwise to 2.5e-7.
template <bool kExact>
HWY_INLINE V exp_below_89(V x) {
  x = greatest(x, set(-104.0f));
  const V magic = set(12582912.0f);
  const V n = hn::Sub(hn::MulAdd(x, set(1.44269504f), magic), magic);
  V r = hn::NegMulAdd(n, set(0.693147182f), x);
  if constexpr (kExact) r = hn::MulAdd(n, set(1.90465421e-9f), r);
  const V one = set(1.0f), p = hn::MulAdd(hn::MulAdd(horner(r, kExpRest), r, one), r, one);
  return V{_mm512_scalef_ps(p.raw, n.raw)};
}

HWY_INLINE V exp(V x) { return exp_below_89<true>(least(x, set(89.0f))); }

#else

HWY_INLINE V exp(V x) {
  const ExpParts parts = exp_parts(x);
  // Adding to the exponent of 1 + m reaches the last binade, which 2^n alone does not.
  const VI bits = hn::BitCast(di, hn::Add(parts.m, set(1.0f)));
  const V y = hn::BitCast(d, hn::Add(bits, hn::ShiftLeft<23>(parts.n_bits)));
  const V low = hn::IfThenZeroElse(hn::Lt(x, set(-87.33654f)), y);
  return hn::IfThenElse(hn::Le(x, set(88.72283f)), low, hn::Add(x, set(kInfinity)));
}

#endif

// exp for x <= 0, to 2.5e-7. NaN stays.
#if HWY_TARGET == HWY_AVX3
HWY_INLINE V exp_below(V x) { return exp_below_89<false>(x); }
#else
HWY_INLINE V exp_below(V x) {
  const ExpParts parts = exp_parts(greatest(x, set(-87.0f)));
  const V s = power_of_two(parts.n_bits, 0);
  return hn::IfThenZeroElse(hn::Lt(x, set(-87.0f)), hn::MulAdd(parts.m, s, s));
}
#endif

#if HWY_TARGET == HWY_AVX3

// Half of it is made first: 2^n alone would not reach the last binade.
HWY_INLINE V expm1(V x) {
  const V u = greatest(least(x, set(89.0f)), set(-20.0f)), magic = set(12582912.0f);
  const V n = hn::Sub(hn::MulAdd(u, set(1.44269504f), magic), magic);
  const V r = hn::MulAdd(n, set(1.90465421e-9f), hn::NegMulAdd(n, set(0.693147182f), u));
  const V m = hn::MulAdd(hn::Mul(horner(r, kExpRest), r), r, r), half = set(0.5f);
  const V s{_mm512_scalef_ps(half.raw, n.raw)};
  const V y = hn::MulAdd(m, s, hn::Sub(s, half));
  return hn::Add(y, y);
}

#else

HWY_INLINE V expm1(V x) {
  const ExpParts parts = exp_parts(greatest(x, set(-20.0f)));
  const V half = power_of_two(parts.n_bits, -1);
  const V y = hn::MulAdd(parts.m, half, hn::Sub(half, set(0.5f)));
  return hn::IfThenElse(hn::Le(x, set(88.72283f)), hn::Add(y, y), hn::Add(x, set(kInfinity)));
}

#endif

// log for finite x, at least the least normal number.
#if SNUG_KERNELS_PIECES

// x = 2^n m with m from 0.75 to 1.5, so that nothing cancels around 1; log(m) = log(1 + r) - log(c)
// with r = m c - 1.
HWY_INLINE V log_inner(V x) {
  constexpr float kP[] = {1.0f, -0.5f, 0.333347946f, -0.250101864f, 0.188336179f};
  const VI bits = hn::BitCast(di, x);
  const VI e = hn::ShiftRight<23>(hn::Sub(bits, hn::Set(di, 0x3f400000)));
  const V m = V{_mm512_getmant_ps(x.raw, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_zero)};
  const auto piece =
      hn::IndicesFromVec(d, hn::And(hn::ShiftRight<19>(hn::BitCast(di, m)), hn::Set(di, 15)));
  const V c = hn::TableLookupLanes(load(kLogInverse), piece);
  const V log_c = hn::TableLookupLanes(load(kLogOfInverse), piece);
  const V r = hn::MulSub(m, c, set(1.0f));
  const V rest = hn::MulAdd(hn::ConvertTo(d, e), set(0.693147182f), log_c);
  return hn::MulAdd(r, horner(r, kP), rest);
}

#else

HWY_INLINE V log_inner(V x) {
  constexpr float kP[] = {0.333333312f,  -0.24999997f, 0.200007157f,  -0.166678023f, 0.142490576f,
                          -0.124256873f, 0.116854199f, -0.114797339f, 0.0697161149f};
  const VI bits = hn::BitCast(di, x);
  const VI e = hn::ShiftRight<23>(hn::Sub(bits, hn::Set(di, 0x3f3504f3)));  // of x / sqrt(1/2)
  const V f = hn::Sub(hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<23>(e))), set(1.0f));
  const V n = hn::ConvertTo(d, e);
  const V ff = hn::Mul(f, f);
  V y = hn::MulAdd(n, set(kLn2Low), hn::Mul(hn::Mul(ff, f), polynomial(f, kP)));
  y = hn::Add(hn::NegMulAdd(set(0.5f), ff, y), f);
  return hn::MulAdd(n, set(kLn2High), y);
}

#endif

HWY_INLINE V log(V x) {
  const V zero = hn::Zero(d);
  const V below = hn::IfThenElse(hn::Lt(x, zero), set(kNaN), set(-kInfinity));
  const V edge = hn::IfThenElse(hn::Lt(x, set(kLeastNormal)), below, x);
  const M inner = hn::And(hn::Ge(x, set(kLeastNormal)), hn::Lt(x, set(kInfinity)));
  return hn::IfThenElse(inner, log_inner(x), edge);
}

// log(1 + x): what 1 + x rounds away is put back to first order.
HWY_INLINE V log1p(V x) {
  const V u = hn::Add(x, set(1.0f));
  const V y = log(u);
  const V lost = hn::Div(hn::Sub(x, hn::Sub(u, set(1.0f))), u);
  const M plain = hn::And(hn::Gt(u, hn::Zero(d)), hn::Lt(u, set(kInfinity)));
  return hn::IfThenElse(plain, hn::Add(y, lost), y);
}

// The same for x in [0, 1].
HWY_INLINE V log1p_unit(V x) {
  constexpr float kP[] = {0.810930216f,   -0.288526673f,   0.132609494f,
                          -0.0677111866f, 0.036625606f,    -0.0202303406f,
                          0.0116395754f,  -0.00856965611f, 0.00512610214f};
  return hn::Mul(x, horner(hn::Sub(x, set(0.5f)), kP));
}

// -e / (e + 2) of e = exp(-2 |x|) - 1.
HWY_INLINE V tanh(V x) {
  const V u = greatest(hn::Neg(hn::Abs(x)), set(-10.0f)), magic = set(12582912.0f);
  const V t = hn::MulAdd(u, set(2.88539008f), magic);
  const V r = hn::NegMulAdd(hn::Sub(t, magic), set(0.693147182f), hn::Add(u, u));
  const V m = hn::MulAdd(hn::Mul(horner(r, kExpRest), r), r, r);
  const V s = power_of_two(hn::BitCast(di, t), 0);
  const V e = hn::MulAdd(m, s, hn::Sub(s, set(1.0f)));
  return hn::CopySign(hn::Div(e, hn::Add(e, set(2.0f))), x);
}

#if HWY_TARGET == HWY_AVX3
HWY_INLINE V sigmoid(V x) {
  const V e = exp_below_89<false>(least(hn::Neg(x), set(89.0f)));
  return hn::Div(set(1.0f), hn::Add(set(1.0f), e));
}
#else
HWY_INLINE V sigmoid(V x) { return hn::Div(set(1.0f), hn::Add(set(1.0f), exp(hn::Neg(x)))); }
#endif

// max(x, 0) + log(1 + exp(-|x|)).
HWY_INLINE V softplus(V x) {
  const V positive = hn::IfThenZeroElse(hn::Lt(x, hn::Zero(d)), x);
  return hn::Add(positive, log1p_unit(exp_below(hn::Neg(hn::Abs(x)))));
}

#if SNUG_KERNELS_PIECES

HWY_INLINE V erf(V x) {
  const V a = hn::Abs(x), one = set(1.0f);
  const V y = least(hn::Mul(a, in_pieces(a, kErfPieces)), one);
  return hn::CopySign(hn::IfThenElse(beyond(a, kErfPieces), one, y), x);
}

#else

// erf(a) for 0 <= a < 1.
HWY_INLINE V erf_small(V a) {
  constexpr float kP[] = {1.12837917f,    -0.376126267f,    0.112835947f,   -0.026854212f,
                          0.00518908742f, -0.000801686428f, 7.87587505e-05f};
  return hn::Mul(a, polynomial(hn::Mul(a, a), kP));
}

// 1 - erf(a) for a >= 1; the polynomial is its logarithm, good up to 4, where float32 erf is 1.
HWY_INLINE V erfc_large(V a) {
  constexpr float kQ[] = {0.000320138052f, -1.13023343f,     -0.631826052f,
                          -0.110080083f,   0.026421136f,     -0.00475959629f,
                          0.000596805626f, -4.60580427e-05f, 1.63715141e-06f};
  return exp_inner(polynomial(least(a, set(4.0f)), kQ));
}

HWY_INLINE V erf(V x) {
  const V a = hn::Abs(x);
  const V large = hn::Sub(set(1.0f), erfc_large(a));
  return hn::CopySign(hn::IfThenElse(hn::Lt(a, set(1.0f)), erf_small(a), large), x);
}

#endif

struct SinCos {
  V sin;
  V cos;
};

// For |x| up to 8192: x = n * pi / 2 + r, |r| <= pi / 4, then by quadrant.
HWY_INLINE SinCos sin_cos_inner(V x) {
  constexpr float kS[] = {-0.166666667f, 0.00833333187f, -0.000198400863f, 2.72498647e-06f};
  constexpr float kC[] = {0.0416666667f, -0.00138888877f, 2.48006e-05f, -2.73009083e-07f};
  const V magic = set(12582912.0f);
  const V t = hn::MulAdd(x, set(0.636619772f), magic);
  const V n = hn::Sub(t, magic);
  V r = hn::NegMulAdd(n, set(1.5703125f), x);
  r = hn::NegMulAdd(n, set(4.837512969970703125e-4f), r);
  r = hn::NegMulAdd(n, set(7.54978995489188216e-8f), r);
  const V rr = hn::Mul(r, r);
  const V s = hn::MulAdd(hn::Mul(rr, r), polynomial(rr, kS), r);
  const V c = hn::MulAdd(hn::Mul(rr, rr), polynomial(rr, kC), hn::NegMulAdd(set(0.5f), rr, set(1)));
  const VI q = hn::BitCast(di, t);
  const VI one = hn::Set(di, 1);
  const M odd = hn::RebindMask(d, hn::Eq(hn::And(q, one), one));
  const VI sin_sign = hn::ShiftLeft<30>(hn::AndNot(one, q));
  const VI cos_sign = hn::ShiftLeft<30>(hn::AndNot(one, hn::Add(q, one)));
  const VI top = hn::Set(di, std::numeric_limits<int32_t>::min());
  return {hn::Xor(hn::IfThenElse(odd, c, s), hn::BitCast(d, hn::And(sin_sign, top))),
          hn::Xor(hn::IfThenElse(odd, s, c), hn::BitCast(d, hn::And(cos_sign, top)))};
}

// (-1)^n sin(x - m pi), which is within pi / 2 of 0. The low bit of `n` counts.
HWY_INLINE V sin_around(V x, V m, VI n) {
  constexpr float kS[] = {-0.16666666f, 0.00833324186f, -0.000198227029f, 2.634638e-06f};
  V r = hn::NegMulAdd(m, set(3.140625f), x);
  r = hn::NegMulAdd(m, set(9.67502593994140625e-4f), r);
  r = hn::NegMulAdd(m, set(1.509957990978376432e-7f), r);
  const V rr = hn::Mul(r, r), s = hn::MulAdd(hn::Mul(rr, r), horner(rr, kS), r);
  return hn::Xor(s, hn::BitCast(d, hn::ShiftLeft<31>(n)));
}

// Of |x| up to 8192.
HWY_INLINE V sin_inner(V x) {
  const V magic = set(12582912.0f), t = hn::MulAdd(x, set(0.318309886f), magic);
  return sin_around(x, hn::Sub(t, magic), hn::BitCast(di, t));
}
HWY_INLINE V cos_inner(V x) {
  const V magic = set(12582912.0f), half = set(0.5f);
  const V t = hn::Add(hn::MulSub(x, set(0.318309886f), half), magic);
  return sin_around(x, hn::Add(hn::Sub(t, magic), half),
                    hn::Add(hn::BitCast(di, t), hn::Set(di, 1)));
}

// Lanes beyond the vector range are rare: the whole vector then goes through the C library.
template <float (*kScalar)(float)>
HWY_INLINE V by_lane(V x) {
  HWY_ALIGN float lanes[kLanes];
  hn::Store(x, d, lanes);
  for (float& lane : lanes) lane = kScalar(lane);
  return hn::Load(d, lanes);
}

HWY_INLINE V sin(V x) {
  if (HWY_LIKELY(hn::AllTrue(d, hn::Le(hn::Abs(x), set(8192.0f))))) return sin_inner(x);
  return by_lane<::sinf>(x);
}

HWY_INLINE V cos(V x) {
  if (HWY_LIKELY(hn::AllTrue(d, hn::Le(hn::Abs(x), set(8192.0f))))) return cos_inner(x);
  return by_lane<::cosf>(x);
}

}  // namespace snug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the toggle of the include guard
