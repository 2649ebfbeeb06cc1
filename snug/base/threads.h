// Fork and join over a fixed split, so that results do not depend on timing.
#pragma once

#include <cstdint>

namespace snug {

// Calls body(context, part) for part = 0 .. parts-1, each exactly once, on up to `threads` threads;
// returns when all are done. With one thread, or inside another parallel region, it calls in order
// on this thread. The body must not throw.
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

// Whether the caller is one of several threads of an OpenMP region.
bool in_parallel_region();

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
