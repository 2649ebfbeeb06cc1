#include "snug/kernels/stream_copy.h"

#include <cstdint>
#include <cstring>

#include "snug/kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "snug/kernels/stream_copy.cpp"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "snug/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace snug::kernels::HWY_NAMESPACE {

// Whole lines at a time: a part of one would be written twice.
void streamed(uint8_t* to, const uint8_t* from, size_t bytes) {
  constexpr hn::ScalableTag<uint8_t> u8;
  constexpr size_t kLine = 64, kVector = hn::MaxLanes(u8);
  size_t at = 0;
  for (; at + kLine <= bytes; at += kLine) {
    for (size_t i = at; i < at + kLine; i += kVector)
      hn::Stream(hn::LoadU(u8, from + i), u8, to + i);
  }
  std::memcpy(to + at, from + at, bytes - at);
}

}  // namespace snug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace snug::kernels {

HWY_EXPORT(streamed);

void stream_copy(void* to, const void* from, size_t bytes) noexcept {
  HWY_DYNAMIC_DISPATCH(streamed)
  (static_cast<uint8_t*>(to), static_cast<const uint8_t*>(from), bytes);
}

void stream_end() noexcept { hwy::FlushStream(); }

}  // namespace snug::kernels
#endif
