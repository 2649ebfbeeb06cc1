// What this machine can do at most, measured in the same run as what is compared with it. One
// thread.
#pragma once

#include <cstdint>

namespace snug::bench {

double peak_gflops();                   // Multiply-adds in registers.
double copy_gigabytes(int64_t floats);  // memcpy of so many floats: bytes read and written a ns.

// Nanoseconds of one call: the least of several stretches, in this thread's own time, so that other
// jobs do not count.
template <typename Body>
double best_ns(const Body& body);

double thread_ns();

}  // namespace snug::bench

#include <algorithm>

namespace snug::bench {

template <typename Body>
double best_ns(const Body& body) {
  body();
  double once = thread_ns();
  body();
  once = std::max(thread_ns() - once, 20.0);
  const auto calls = static_cast<int64_t>(std::clamp(2e6 / once, 1.0, 1e5));
  double best = 1e30;
  for (int stretch = 0; stretch < 15; ++stretch) {
    const double start = thread_ns();
    for (int64_t i = 0; i < calls; ++i) body();
    best = std::min(best, (thread_ns() - start) / static_cast<double>(calls));
  }
  return best;
}

}  // namespace snug::bench
