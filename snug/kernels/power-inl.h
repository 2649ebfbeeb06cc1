// a to the power of b, in double: what is lost on the way from the logarithm to the exponential
// grows with the exponent, and float32 has nothing to spare.
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
  const M inner = hn::And(hn::Ge(a, set(kLeastNormal)), hn::Lt(a, set(kInfinity)));
  const V edge = hn::IfThenElse(hn::Lt(a, set(kLeastNormal)), set(-kInfinity), a);
  const V n = hn::IfThenElse(inner, hn::ConvertTo(d, e), edge);
  const auto lower = [=](V v) HWY_ATTR { return hn::PromoteTo(dd, hn::LowerHalf(half, v)); };
  const auto upper = [=](V v) HWY_ATTR { return hn::PromoteTo(dd, hn::UpperHalf(half, v)); };
  const auto low = hn::DemoteTo(half, power_of_parts(lower(n), lower(f), lower(b)));
  const auto high = hn::DemoteTo(half, power_of_parts(upper(n), upper(f), upper(b)));
  return hn::Combine(d, high, low);
}

// As std::pow, but that denormal numbers count as 0.
HWY_INLINE V power(V a, V b) {
  if (hn::AllTrue(d, hn::Eq(b, set(2.0f)))) return hn::Mul(a, a);
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

#endif

}  // namespace snug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the toggle of the include guard
