// Sums over rows on several threads, with bits that depend on the number of threads only.
#pragma once

#include <algorithm>

#include "snug/base/threads.h"
#include "snug/kernels/reduce.h"

namespace snug::ops {

// Calls body(stretch, begin, end, to, output) for stretches of [0, size): the first writes its
// `count` sums to `sums` (or adds them), each other writes to its own stretch of `partials`, which
// holds (threads - 1) * count elements. Then the stretches are added up in order.
template <typename T, typename Body>
void sum_in_stretches(int64_t size, int threads, T* sums, int64_t count, T* partials,
                      kernels::Output output, const Body& body) {
  const int stretches = static_cast<int>(std::clamp<int64_t>(size, 1, threads));
  parallel_parts(stretches, [&](int stretch) {
    const int64_t begin = size * stretch / stretches, end = size * (stretch + 1) / stretches;
    if (stretch == 0)
      body(stretch, begin, end, sums, output);
    else
      body(stretch, begin, end, partials + (stretch - 1) * count, kernels::Output::write);
  });
  for (int stretch = 1; stretch < stretches; ++stretch) {
    const T* partial = partials + (stretch - 1) * count;
    for (int64_t i = 0; i < count; ++i) sums[i] += partial[i];
  }
}

}  // namespace snug::ops
