#include "snug/kernels/convert.h"

#include <limits>

#include "snug/kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "snug/kernels/convert.cpp"
#include "hwy/foreach_target.h"  // Compiles what follows once for each instruction set.
#include "snug/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace snug::kernels::HWY_NAMESPACE {

// The compiler turns these plain loops into vectors of this target.
template <class From, class To>
HWY_INLINE void cast_all(const From* from, To* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<To>(from[i]);
}

void from_double(const double* from, float* to, int64_t n) { cast_all(from, to, n); }
void from_int8(const int8_t* from, float* to, int64_t n) { cast_all(from, to, n); }
void from_int16(const int16_t* from, float* to, int64_t n) { cast_all(from, to, n); }
void from_int32(const int32_t* from, float* to, int64_t n) { cast_all(from, to, n); }
void from_int64(const int64_t* from, float* to, int64_t n) { cast_all(from, to, n); }
void from_uint8(const uint8_t* from, float* to, int64_t n) { cast_all(from, to, n); }
void from_uint16(const uint16_t* from, float* to, int64_t n) { cast_all(from, to, n); }
void from_uint32(const uint32_t* from, float* to, int64_t n) { cast_all(from, to, n); }
void from_uint64(const uint64_t* from, float* to, int64_t n) { cast_all(from, to, n); }
void to_double(const float* from, double* to, int64_t n) { cast_all(from, to, n); }

// Any byte but 0 is true.
void from_truth(const uint8_t* from, float* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = from[i] != 0 ? 1.0f : 0.0f;
}

// Moves the half's exponent and mantissa into place and rescales, which also makes denormals right;
// infinities and NaN then get the exponent that they lost.
void from_half(const Half* from, float* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t half = from[i].bits;
    const uint32_t magnitude = (half & 0x7fffu) << 13;
    float value;
    std::memcpy(&value, &magnitude, sizeof(value));
    value *= 0x1p112f;
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    bits |= (half & 0x8000u) << 16 | ((half & 0x7c00u) == 0x7c00u ? 0x7f800000u : 0u);
    std::memcpy(to + i, &bits, sizeof(bits));
  }
}

// Saturates; the least int32 stands for NaN too. Adds the lanes that changed to `inexact`.
HWY_INLINE VI cut_to_int32(V v, M& inexact) {
  const V end = set(2147483648.0f);
  const M inside = hn::And(hn::Lt(v, end), hn::Ge(v, hn::Neg(end)));
  const VI cut = hn::ConvertTo(di, hn::IfThenElseZero(inside, v));
  inexact = hn::Or(inexact, hn::Not(hn::And(inside, hn::Eq(hn::ConvertTo(d, cut), v))));
  const M above = hn::Ge(v, end);
  const VI edge =
      hn::IfThenElse(hn::RebindMask(di, above), hn::Set(di, std::numeric_limits<int32_t>::max()),
                     hn::Set(di, std::numeric_limits<int32_t>::min()));
  return hn::IfThenElse(hn::RebindMask(di, inside), cut, edge);
}

bool to_int32(const float* from, int32_t* to, int64_t n) {
  M inexact = hn::Ne(hn::Zero(d), hn::Zero(d));
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    hn::StoreU(cut_to_int32(load(from + i), inexact), di, to + i);
  if (i < n) {
    HWY_ALIGN int32_t part[kLanes];
    hn::Store(cut_to_int32(load_part(from + i, n - i), inexact), di, part);
    std::memcpy(to + i, part, static_cast<size_t>(n - i) * sizeof(int32_t));
  }
  return hn::AllFalse(d, inexact);
}

bool narrow_int64(const int64_t* from, int32_t* to, int64_t n) {
  constexpr int64_t kLow = std::numeric_limits<int32_t>::min();
  constexpr int64_t kHigh = std::numeric_limits<int32_t>::max();
  int64_t outside = 0;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t held = from[i] < kLow ? kLow : from[i] > kHigh ? kHigh : from[i];
    outside |= held ^ from[i];
    to[i] = static_cast<int32_t>(held);
  }
  return outside == 0;
}

}  // namespace snug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace snug::kernels {

HWY_EXPORT(from_double);
HWY_EXPORT(from_int8);
HWY_EXPORT(from_int16);
HWY_EXPORT(from_int32);
HWY_EXPORT(from_int64);
HWY_EXPORT(from_uint8);
HWY_EXPORT(from_uint16);
HWY_EXPORT(from_uint32);
HWY_EXPORT(from_uint64);
HWY_EXPORT(from_truth);
HWY_EXPORT(from_half);
HWY_EXPORT(to_double);
HWY_EXPORT(to_int32);
HWY_EXPORT(narrow_int64);

void convert(const float* from, float* to, int64_t n) noexcept {
  if (n > 0) std::memmove(to, from, static_cast<size_t>(n) * sizeof(float));
}
void convert(const double* from, float* to, int64_t n) noexcept {
  HWY_DYNAMIC_DISPATCH(from_double)(from, to, n);
}
void convert(const Half* from, float* to, int64_t n) noexcept {
  HWY_DYNAMIC_DISPATCH(from_half)(from, to, n);
}
void convert(const int8_t* from, float* to, int64_t n) noexcept {
  HWY_DYNAMIC_DISPATCH(from_int8)(from, to, n);
}
void convert(const int16_t* from, float* to, int64_t n) noexcept {
  HWY_DYNAMIC_DISPATCH(from_int16)(from, to, n);
}
void convert(const int32_t* from, float* to, int64_t n) noexcept {
  HWY_DYNAMIC_DISPATCH(from_int32)(from, to, n);
}
void convert(const int64_t* from, float* to, int64_t n) noexcept {
  HWY_DYNAMIC_DISPATCH(from_int64)(from, to, n);
}
void convert(const uint8_t* from, float* to, int64_t n) noexcept {
  HWY_DYNAMIC_DISPATCH(from_uint8)(from, to, n);
}
void convert(const uint16_t* from, float* to, int64_t n) noexcept {
  HWY_DYNAMIC_DISPATCH(from_uint16)(from, to, n);
}
void convert(const uint32_t* from, float* to, int64_t n) noexcept {
  HWY_DYNAMIC_DISPATCH(from_uint32)(from, to, n);
}
void convert(const uint64_t* from, float* to, int64_t n) noexcept {
  HWY_DYNAMIC_DISPATCH(from_uint64)(from, to, n);
}
void convert(const bool* from, float* to, int64_t n) noexcept {
  HWY_DYNAMIC_DISPATCH(from_truth)(reinterpret_cast<const uint8_t*>(from), to, n);
}
bool convert(const float* from, int32_t* to, int64_t n) noexcept {
  return HWY_DYNAMIC_DISPATCH(to_int32)(from, to, n);
}
bool convert(const int64_t* from, int32_t* to, int64_t n) noexcept {
  return HWY_DYNAMIC_DISPATCH(narrow_int64)(from, to, n);
}
void convert(const float* from, double* to, int64_t n) noexcept {
  HWY_DYNAMIC_DISPATCH(to_double)(from, to, n);
}

}  // namespace snug::kernels
#endif
