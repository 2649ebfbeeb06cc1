// The vector type of the loops and its edges: parts of vectors, bytes of truth, NaN that stays.
// Compiled once for each instruction set, inside the source that includes it.
#if defined(SNUG_KERNELS_VECTOR_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SNUG_KERNELS_VECTOR_INL_H_
#undef SNUG_KERNELS_VECTOR_INL_H_
#else
#define SNUG_KERNELS_VECTOR_INL_H_
#endif

#include <cstdint>
#include <cstring>
#include <limits>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace snug::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using DI = hn::RebindToSigned<D>;
using DU = hn::RebindToUnsigned<D>;
using V = hn::Vec<D>;
using VI = hn::Vec<DI>;
using VU = hn::Vec<DU>;
using M = hn::Mask<D>;
using DBytes = hn::Rebind<uint8_t, DI>;

[[maybe_unused]] constexpr D d;
[[maybe_unused]] constexpr DI di;
[[maybe_unused]] constexpr DU du;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(D()));

HWY_INLINE V set(float value) { return hn::Set(d, value); }
HWY_INLINE V load(const float* p) { return hn::LoadU(d, p); }
HWY_INLINE void store(V v, float* p) { hn::StoreU(v, d, p); }

// The first `count` floats (fewer than a vector), zeros behind them. Touches nothing further.
HWY_INLINE V load_part(const float* p, int64_t count) {
#if HWY_TARGET <= HWY_AVX2
  return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(count)), d, p);
#else
  HWY_ALIGN float part[kLanes] = {};
  std::memcpy(part, p, static_cast<size_t>(count) * sizeof(float));
  return hn::Load(d, part);
#endif
}

HWY_INLINE void store_part(V v, float* p, int64_t count) {
#if HWY_TARGET <= HWY_AVX2
  hn::BlendedStore(v, hn::FirstN(d, static_cast<size_t>(count)), d, p);
#else
  HWY_ALIGN float part[kLanes];
  hn::Store(v, d, part);
  std::memcpy(p, part, static_cast<size_t>(count) * sizeof(float));
#endif
}

// Of a line that is written some hundred nanoseconds later: it comes to the second cache only, so
// that it does not take one of the few places of lines on their way to the first. Where a result
// goes to memory, loops took 1.4 to 1.9 times as long with those (Zen 4).
HWY_INLINE void call_for_later(const void* line) { __builtin_prefetch(line, 0, 2); }

// A mask as bytes 0 and 1.
HWY_INLINE void store_truth(M mask, uint8_t* p) {
  const VI ones = hn::IfThenElseZero(hn::RebindMask(di, mask), hn::Set(di, 1));
  hn::StoreU(hn::DemoteTo(DBytes(), ones), DBytes(), p);
}

HWY_INLINE void store_truth_part(M mask, uint8_t* p, int64_t count) {
  uint8_t part[kLanes];
  store_truth(mask, part);
  std::memcpy(p, part, static_cast<size_t>(count));
}

// a's NaN stays. The instructions of x86 answer their second operand unless the first one wins.
#if HWY_ARCH_X86 && HWY_TARGET != HWY_EMU128 && HWY_TARGET != HWY_SCALAR
HWY_INLINE V least(V a, V b) { return hn::Min(b, a); }
HWY_INLINE V greatest(V a, V b) { return hn::Max(b, a); }
#else
HWY_INLINE V least(V a, V b) { return hn::IfThenElse(hn::Lt(b, a), b, a); }
HWY_INLINE V greatest(V a, V b) { return hn::IfThenElse(hn::Gt(b, a), b, a); }
#endif

// NaN if either is.
HWY_INLINE V nan_max(V a, V b) { return hn::IfThenElse(hn::Or(hn::Gt(b, a), hn::IsNaN(b)), b, a); }
HWY_INLINE V nan_min(V a, V b) { return hn::IfThenElse(hn::Or(hn::Lt(b, a), hn::IsNaN(b)), b, a); }

// The bits of |x| order like the numbers, with NaN above all: one integer maximum that keeps NaN.
HWY_INLINE VI magnitude_bits(V x) { return hn::BitCast(di, hn::Abs(x)); }

HWY_INLINE float largest_magnitude(VI bits) {
  return hn::GetLane(hn::BitCast(d, hn::MaxOfLanes(di, bits)));
}

HWY_INLINE float sum_of_lanes(V v) { return hn::GetLane(hn::SumOfLanes(d, v)); }

// The horizontal maximum, NaN if a lane is.
HWY_INLINE float nan_max_of_lanes(V v) {
  const float nan = hn::AllTrue(d, hn::Eq(v, v)) ? 0.0f : std::numeric_limits<float>::quiet_NaN();
  return hn::GetLane(hn::MaxOfLanes(d, v)) + nan;
}

}  // namespace snug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the toggle of the include guard
