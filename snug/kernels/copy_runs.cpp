#include "snug/kernels/copy_runs.h"

#include <algorithm>
#include <cstring>

#include "snug/kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "snug/kernels/copy_runs.cpp"
#include "hwy/foreach_target.h"
#include "snug/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace snug::kernels::HWY_NAMESPACE {

using DByte = hn::ScalableTag<uint8_t>;
constexpr auto kVectorBytes = static_cast<int64_t>(hn::MaxLanes(DByte()));
constexpr int64_t kLineBytes = 64;
// The hardware foresees the lines of longer runs.
constexpr int64_t kLongRun = 4096, kBytesAhead = 8192;

HWY_INLINE void copy_vector(const uint8_t* from, uint8_t* to) {
  hn::StoreU(hn::LoadU(DByte(), from), DByte(), to);
}

// At least a vector. The last one may go over bytes that are there already.
HWY_INLINE void copy_run(const uint8_t* from, uint8_t* to, int64_t bytes) {
  for (int64_t i = 0; i + kVectorBytes <= bytes; i += kVectorBytes) copy_vector(from + i, to + i);
  copy_vector(from + bytes - kVectorBytes, to + bytes - kVectorBytes);
}

// Calls for a run that is read and its place, some runs before their turn.
HWY_INLINE void call_for(const uint8_t* from, const uint8_t* to, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += kLineBytes) {
    __builtin_prefetch(from + i, 0, 2);
    __builtin_prefetch(to + i, 0, 2);
  }
}

void copy_all(const uint8_t* from, int64_t from_step, uint8_t* to, int64_t to_step, int64_t bytes,
              int64_t count) {
  const int64_t ahead = bytes > kLongRun ? count : std::max<int64_t>(kBytesAhead / bytes, 1);
  for (int64_t i = 0; i < count; ++i, from += from_step, to += to_step) {
    if (i + ahead < count) call_for(from + ahead * from_step, to + ahead * to_step, bytes);
    copy_run(from, to, bytes);
  }
}

// Past the caches: what is written is not read first.
void copy_past(const uint8_t* from, int64_t from_step, uint8_t* to, int64_t to_step, int64_t bytes,
               int64_t count) {
  for (int64_t i = 0; i < count; ++i, from += from_step, to += to_step) {
    for (int64_t k = 0; k < bytes; k += kVectorBytes)
      hn::Stream(hn::LoadU(DByte(), from + k), DByte(), to + k);
  }
}

void copy(const uint8_t* from, int64_t from_step, uint8_t* to, int64_t to_step, int64_t bytes,
          int64_t count, bool past_caches) {
  const auto is_line = [](int64_t at) { return at % kLineBytes == 0; };
  if (past_caches && is_line(reinterpret_cast<intptr_t>(to)) && is_line(to_step) && is_line(bytes))
    return copy_past(from, from_step, to, to_step, bytes, count);
  if (bytes >= kVectorBytes) return copy_all(from, from_step, to, to_step, bytes, count);
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(to + i * to_step, from + i * from_step, static_cast<size_t>(bytes));
}

}  // namespace snug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace snug::kernels {

HWY_EXPORT(copy);

void copy_runs(const Runs<const std::byte>& from, const Runs<std::byte>& to, int64_t bytes,
               int64_t count, bool past_caches) noexcept {
  HWY_DYNAMIC_DISPATCH(copy)
  (reinterpret_cast<const uint8_t*>(from.first), from.step, reinterpret_cast<uint8_t*>(to.first),
   to.step, bytes, count, past_caches);
}

}  // namespace snug::kernels
#endif
