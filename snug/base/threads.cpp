#include "snug/base/threads.h"

#include <omp.h>
#include <sched.h>

#include <algorithm>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace snug {

void run_parts(int parts, int threads, void (*body)(void*, int), void* context) {
  if (parts == 1 || threads == 1 || omp_in_parallel()) {
    for (int part = 0; part < parts; ++part) body(context, part);
    return;
  }
#pragma omp parallel num_threads(std::min(parts, threads))
  {
    const FlushDenormals flush;
    for (int part = omp_get_thread_num(); part < parts; part += omp_get_num_threads())
      body(context, part);
  }
}

bool in_parallel_region() { return omp_in_parallel() != 0; }

int hardware_threads() {
  if (in_parallel_region()) return 1;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return CPU_COUNT(&set);
  return omp_get_num_procs();
}

#if defined(__SSE__)
constexpr unsigned kFlushToZeroAndDenormalsAreZero = 0x8040;
FlushDenormals::FlushDenormals() : saved_(_mm_getcsr()) {
  _mm_setcsr(saved_ | kFlushToZeroAndDenormalsAreZero);
}
FlushDenormals::~FlushDenormals() { _mm_setcsr(saved_); }
#else
FlushDenormals::FlushDenormals() : saved_(0) {}
FlushDenormals::~FlushDenormals() = default;
#endif

}  // namespace snug
