// Loops over long arrays that may stand anywhere in memory.
#if defined(SNUG_KERNELS_STREAM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SNUG_KERNELS_STREAM_INL_H_
#undef SNUG_KERNELS_STREAM_INL_H_
#else
#define SNUG_KERNELS_STREAM_INL_H_
#endif

#include "snug/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace snug::kernels::HWY_NAMESPACE {

// What stands kFloatsAhead behind is called for, so that it is there when its turn comes.
HWY_INLINE void call_for(const void* line) { __builtin_prefetch(line, 0, 3); }

// For rows side by side: how far to call from one of them, `left` elements before the end of the
// last one of `row` elements.
HWY_INLINE int64_t ahead(int64_t row, int64_t left) {
  return left >= row + kFloatsAhead ? kFloatsAhead : 0;
}

// Calls vector(i) for every whole vector of n elements, then part(i, count) for the rest; `arrays`
// are what they touch at i.
template <class Vector, class Part, class... Arrays>
HWY_INLINE void stream(int64_t n, const Vector& vector, const Part& part, const Arrays*... arrays) {
  const int64_t later = kFloatsAhead;
  int64_t i = 0;
  for (; i + later + kLanes <= n; i += kLanes) {
    (call_for(arrays + i + later), ...);
    vector(i);
  }
  for (; i + kLanes <= n; i += kLanes) vector(i);
  if (i < n) part(i, n - i);
}

}  // namespace snug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the toggle of the include guard
