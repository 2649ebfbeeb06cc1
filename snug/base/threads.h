// Fork and join over a fixed split, so that results do not depend on timing.
#pragma once

#include <cstddef>
#include <cstdint>

namespace snug {

// Calls body(context, part) for part = 0 .. parts-1, each exactly once, on up to `threads` threads;
// returns when all are done. With one thread, inside another parallel region, or while another
// thread has its parts run, it calls in order on this thread. A part with the same number is on the
// same thread in every call from one thread, unless that thread is late. The body must not throw.
void run_parts(int parts, int threads, void (*body)(void* context, int part), void* context);

template <typename Body>
void parallel_parts(int parts, int threads, const Body& body) {
  if (parts == 1) return body(0);
  run_parts(
      parts, threads, [](void* context, int part) { (*static_cast<const Body*>(context))(part); },
      const_cast<void*>(static_cast<const void*>(&body)));
}
// A thread for each part.
template <typename Body>
void parallel_parts(int parts, const Body& body) {
  parallel_parts(parts, parts, body);
}

// Splits [0, size) into `parts` stretches at multiples of `grain` and calls body(begin, end) for
// each that is not empty. The split depends on size, parts and grain only.
template <typename Body>
void parallel_ranges(int64_t size, int parts, int64_t grain, const Body& body) {
  const int64_t blocks = (size + grain - 1) / grain;
  parallel_parts(parts, [&](int part) {
    const int64_t begin = blocks * part / parts * grain;
    const int64_t end = part + 1 == parts ? size : blocks * (part + 1) / parts * grain;
    if (begin < end) body(begin, end);
  });
}

// Between stretches of memory that threads work in side by side: a core fetches ahead beyond the
// end of what it goes through, and so takes from another what that one is writing (Zen 4: with 8
// KiB or less between them convolutions on 16 channels took half as long again).
inline constexpr size_t kThreadGapBytes = 16 << 10;
// How far apart such stretches begin.
constexpr size_t thread_stride(size_t bytes, int threads) {
  return threads > 1 && bytes > 0 ? bytes + kThreadGapBytes : bytes;
}

// Whether the caller is one of several threads of an OpenMP region, or of run_parts.
bool in_parallel_region();

// While one lives, a library's OpenMP regions come between ours. Ours are then OpenMP's too: its
// threads wait awake for milliseconds after each region, and two sets of threads would take the
// cores from each other.
class OpenmpRegions {
 public:
  OpenmpRegions();
  ~OpenmpRegions();
  OpenmpRegions(const OpenmpRegions&) = delete;
  OpenmpRegions& operator=(const OpenmpRegions&) = delete;
};

// Asks the kernel to let this thread, and those that it starts, run soon after they are woken on a
// busy machine, for shorter at a time: then a team does not wait for the end of others' slices.
// From Linux 6.12 on; its priority stays as it is.
void ask_for_short_slices();

// The cores that this process may use; 1 inside a parallel region, whose other threads are taken.
int hardware_threads();

// While it lives, denormal numbers are flushed to zero on this thread; the host's setting is put
// back after.
class FlushDenormals {
 public:
  FlushDenormals();
  ~FlushDenormals();
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  unsigned saved_;
};

}  // namespace snug
