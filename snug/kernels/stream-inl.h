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

// What a loop reads and writes is called for so many elements before its turn. The hardware does
// that too, but too late for loops with some arithmetic in them: out of cache they take 0.65 to 0.8
// of the time (Sapphire Rapids).
constexpr int64_t kAhead = 512;

HWY_INLINE void call_for(const void* line) { __builtin_prefetch(line, 0, 3); }

// For rows side by side: how far to call from one of them, `left` elements before the end of the
// last one of `row` elements.
HWY_INLINE int64_t ahead(int64_t row, int64_t left) { return left >= row + kAhead ? kAhead : 0; }

// Calls vector(i) for every whole vector of n elements, then part(i, count) for the rest; `arrays`
// are what they touch at i.
template <class Vector, class Part, class... Arrays>
HWY_INLINE void stream(int64_t n, const Vector& vector, const Part& part, const Arrays*... arrays) {
  int64_t i = 0;
  for (; i + kAhead + kLanes <= n; i += kLanes) {
    (call_for(arrays + i + kAhead), ...);
    vector(i);
  }
  for (; i + kLanes <= n; i += kLanes) vector(i);
  if (i < n) part(i, n - i);
}

}  // namespace snug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the toggle of the include guard
