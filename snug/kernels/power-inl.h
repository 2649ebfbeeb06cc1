// a to the power of b. What is lost on the way from the logarithm to the exponential grows with the
// exponent, and float32 has nothing to spare: the logarithm is a double or the sum of two floats.
#if defined(SNUG_KERNELS_POWER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SNUG_KERNELS_POWER_INL_H_
#undef SNUG_KERNELS_POWER_INL_H_
#else
#define SNUG_KERNELS_POWER_INL_H_
#endif

#include <cmath>

#include "snug/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace snug::kernels::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

HWY_INLINE V power(V a, V b) { return hn::Set(d, std::pow(hn::GetLane(a), hn::GetLane(b))); }

#else

// The logarithm where a is a normal number; that of 0 is -infinity, infinity and NaN stay.
HWY_INLINE V at_the_edge(V a, V log) {
  const V below = hn::IfThenElse(hn::Lt(a, set(kLeastNormal)), set(-kInfinity), log);
  return hn::IfThenElse(hn::Lt(a, set(kInfinity)), below, a);
}

#if SNUG_KERNELS_PIECES

// The sum of both.
struct TwoFloats {
  V high, low;
};

// log2(1 + r + lost) for |r| < 0.03, to 2^-34; `lost` is what rounding has taken from r.
HWY_INLINE TwoFloats log2_near_one(V r, V lost) {
  constexpr float kRest[] = {-0.721347497f, 0.480898327f, -0.360885981f, 0.288720916f};
  const V slope = set(1.44269502f), high = hn::Mul(r, slope);
  V low = hn::MulAdd(r, set(1.92596303e-08f), hn::MulSub(r, slope, high));
  low = hn::MulAdd(lost, hn::Sub(slope, high), low);
  return {high, hn::MulAdd(hn::Mul(r, r), horner(r, kRest), low)};
}

// log2 of normal numbers, to 2^-33 and, near 1, as much of itself.
HWY_INLINE TwoFloats log2_parts(V a) {
  const VI bits = hn::BitCast(di, a), moved = hn::Sub(bits, hn::Set(di, kPowerStart));
  const VI exponent = hn::And(moved, hn::Set(di, static_cast<int32_t>(0xff800000)));
  const __m512i piece = hn::ShiftRight<19>(moved).raw;  // Its lowest four bits count.
  const V inverse{_mm512_permutexvar_ps(piece, load(kPowerInverse).raw)};
  const V log_high{_mm512_permutexvar_ps(piece, load(kPowerLogHigh).raw)};
  const V log_low{_mm512_permutexvar_ps(piece, load(kPowerLogLow).raw)};
  const V z = hn::BitCast(d, hn::Sub(bits, exponent)), product = hn::Mul(z, inverse);
  const TwoFloats rest =
      log2_near_one(hn::Sub(product, set(1.0f)), hn::MulSub(z, inverse, product));
  const V whole = hn::Add(hn::ConvertTo(d, hn::ShiftRight<23>(moved)), log_high);  // Exact.
  const V high = hn::Add(whole, rest.high), lost = hn::Sub(rest.high, hn::Sub(high, whole));
  return {high, hn::Add(hn::Add(rest.low, log_low), lost)};
}

// 2^(b * log). Infinities have their limits, NaN stays.
HWY_INLINE V power_of_log(const TwoFloats& log, V b) {
  constexpr float kPower[] = {0.693147188f,   0.240226508f,   0.0555035711f,
                              0.00961808256f, 0.00133908634f, 0.000154531629f};
  const V x = hn::Mul(b, log.high);
  const V low = hn::MulAdd(b, log.low, hn::MulSub(b, log.high, x));
  // Beyond it the result is 0 or infinite in float32, and `low` may be NaN.
  const __mmask16 near = hn::Not(hn::Gt(hn::Abs(x), set(250.0f))).raw;
  const V n{_mm512_mask_roundscale_ps(x.raw, near, hn::Add(x, low).raw, _MM_FROUND_TO_NEAREST_INT)};
  const V r{_mm512_maskz_add_ps(near, hn::Sub(x, n).raw, low.raw)};
  const V power = hn::MulAdd(horner(r, kPower), r, set(1.0f));
  return V{_mm512_scalef_ps(power.raw, n.raw)};
}

// |a|^b.
HWY_INLINE V power_of_magnitude(V a, V b) {
  const TwoFloats log = log2_parts(a);
  return power_of_log({at_the_edge(a, log.high), log.low}, b);
}

// As most are: a positive and normal, b a number and not 2.
HWY_INLINE bool are_plain(V a, V b) {
  constexpr int kNotPositiveNormal = 0xff, kNaNOrInfinity = 0x99;
  const __mmask16 edges = static_cast<__mmask16>(_mm512_fpclass_ps_mask(a.raw, kNotPositiveNormal) |
                                                 _mm512_fpclass_ps_mask(b.raw, kNaNOrInfinity));
  return (edges | hn::Eq(b, set(2.0f)).raw) == 0;
}
HWY_INLINE V power_of_normal(V a, V b) { return power_of_log(log2_parts(a), b); }

#else

using DD = hn::Repartition<double, D>;
using DDI = hn::RebindToSigned<DD>;
using VD = hn::Vec<DD>;

// The steps of horner() in double.
template <int kCount>
HWY_INLINE VD horner(VD x, const double (&c)[kCount]) {
  const DD dd;
  VD y = hn::Set(dd, c[kCount - 1]);
  for (int i = kCount - 2; i >= 0; --i) y = hn::MulAdd(y, x, hn::Set(dd, c[i]));
  return y;
}

// 2^(b * (e + log2(1 + f))) for f from sqrt(1/2) - 1 to sqrt(2) - 1. Infinities have their limits,
// NaN stays.
HWY_INLINE VD power_of_parts(VD e, VD f, VD b) {
  constexpr double kLog[] = {1.4426950409582302,   -0.7213475248945522,  0.4808983110824002,
                             -0.360672845348936,   0.28854145553597715,  -0.24050279825001172,
                             0.20607165109914127,  -0.17905123203322462, 0.15931300522348446,
                             -0.15722652971153048, 0.1534528693745451,   -0.08433521045800585};
  constexpr double kPower[] = {0.6931471880262288,   0.24022650760568126,   0.05550357114219078,
                               0.009618082557277852, 0.0013390863364671234, 0.0001545316294512069};
  const DD dd;
  const VD log = hn::MulAdd(f, horner(f, kLog), e);
  // Beyond these the result is 0 or infinite in float32. NaN is the second operand and stays.
  const VD x = hn::Min(hn::Set(dd, 200.0), hn::Max(hn::Set(dd, -200.0), hn::Mul(b, log)));
  const VD magic = hn::Set(dd, 6755399441055744.0);  // 1.5 * 2^52, as in exp_parts().
  const VD t = hn::Add(x, magic);
  const VD r = hn::Sub(x, hn::Sub(t, magic));
  const auto exponent = hn::Add(hn::BitCast(DDI(), t), hn::Set(DDI(), 1023));
  const VD scale = hn::BitCast(dd, hn::ShiftLeft<52>(exponent));
  return hn::Mul(hn::MulAdd(r, horner(r, kPower), hn::Set(dd, 1.0)), scale);
}

// |a|^b, each half in double.
HWY_INLINE V power_of_magnitude(V a, V b) {
  const hn::Half<D> half;
  const DD dd;
  const VI bits = hn::BitCast(di, a);
  const VI e = hn::ShiftRight<23>(hn::Sub(bits, hn::Set(di, 0x3f3504f3)));  // of a / sqrt(1/2)
  const V f = hn::Sub(hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<23>(e))), set(1.0f));
  const V n = at_the_edge(a, hn::ConvertTo(d, e));
  const auto lower = [=](V v) HWY_ATTR { return hn::PromoteTo(dd, hn::LowerHalf(half, v)); };
  const auto upper = [=](V v) HWY_ATTR { return hn::PromoteTo(dd, hn::UpperHalf(half, v)); };
  const auto low = hn::DemoteTo(half, power_of_parts(lower(n), lower(f), lower(b)));
  const auto high = hn::DemoteTo(half, power_of_parts(upper(n), upper(f), upper(b)));
  return hn::Combine(d, high, low);
}

HWY_INLINE bool are_plain(V a, V b) {
  const M normal = hn::And(hn::Ge(a, set(kLeastNormal)), hn::Lt(a, set(kInfinity)));
  const M number = hn::And(hn::Lt(hn::Abs(b), set(kInfinity)), hn::Ne(b, set(2.0f)));
  return hn::AllTrue(d, hn::And(normal, number));
}
HWY_INLINE V power_of_normal(V a, V b) { return power_of_magnitude(a, b); }

#endif

// With signs, infinities, zeros and NaN as std::pow has them.
HWY_INLINE V any_power(V a, V b) {
  const V magnitude = hn::Abs(a), half = hn::Mul(set(0.5f), b);
  const M whole = hn::Eq(hn::Floor(b), b), odd = hn::AndNot(hn::Eq(hn::Floor(half), half), whole);
  const V y = hn::CopySign(power_of_magnitude(magnitude, b), hn::IfThenElseZero(odd, a));
  // Of a negative number only whole powers are real; infinity and zero have their limits.
  const M number = hn::And(hn::Le(a, set(-kLeastNormal)), hn::Lt(magnitude, set(kInfinity)));
  const M real = hn::Or(whole, hn::Not(number));
  // Whatever the other one is.
  const M far = hn::And(hn::Eq(magnitude, set(1.0f)), hn::Eq(hn::Abs(b), set(kInfinity)));
  const M one = hn::Or(hn::Or(hn::Eq(b, hn::Zero(d)), hn::Eq(a, set(1.0f))), far);
  return hn::IfThenElse(one, set(1.0f), hn::IfThenElse(real, y, set(kNaN)));
}

// As std::pow, but that denormal numbers count as 0. An element's bits do not depend on those
// beside it.
HWY_INLINE V power(V a, V b) {
  if (HWY_LIKELY(are_plain(a, b))) return power_of_normal(a, b);
  const M square = hn::Eq(b, set(2.0f));
  if (hn::AllTrue(d, square)) return hn::Mul(a, a);
  return hn::IfThenElse(square, hn::Mul(a, a), any_power(a, b));
}

#endif

}  // namespace snug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the toggle of the include guard
