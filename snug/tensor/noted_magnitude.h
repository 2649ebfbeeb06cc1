// What the guard asks of numbers, noted by the kernel that makes them while it has them in
// registers: nobody has to read them again for it.
#pragma once

#include <cstdint>

namespace snug {

// Of the stretch that one thread has made. Threads write side by side: each has a line of its own.
struct alignas(64) NotedMagnitude {
  double sum_squares = 0;
  // Of the largest |x|. The bits of magnitudes are in the order of the numbers, with NaN above
  // infinity.
  uint32_t largest_bits = 0;
};

}  // namespace snug
