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

// Saturates; the least int32 stands for NaN too.
bool to_int32(const float* from, int32_t* to, int64_t n) {
  int32_t inexact = 0;
  for (int64_t i = 0; i < n; ++i) {
    const float value = from[i];
    const bool fits = value >= -2147483648.0f && value < 2147483648.0f;
    const int32_t edge =
        value > 0 ? std::numeric_limits<int32_t>::max() : std::numeric_limits<int32_t>::min();
    const int32_t cut = fits ? static_cast<int32_t>(fits ? value : 0.0f) : edge;
    inexact |= !(fits && static_cast<float>(cut) == value);
    to[i] = cut;
  }
  return inexact == 0;
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
