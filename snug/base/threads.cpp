#include "snug/base/threads.h"

#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <atomic>

#include "snug/base/team.h"

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace snug {
namespace {

std::atomic<int> openmp_regions{0};
thread_local bool off_the_team = false;

void run_in_order(int parts, void (*body)(void*, int), void* context) {
  for (int part = 0; part < parts; ++part) body(context, part);
}

void run_in_region(int parts, int threads, void (*body)(void*, int), void* context) {
#pragma omp parallel num_threads(threads)
  {
    const FlushDenormals flush;
    for (int part = omp_get_thread_num(); part < parts; part += omp_get_num_threads())
      body(context, part);
  }
}

}  // namespace

OpenmpRegions::OpenmpRegions() { ++openmp_regions; }
OpenmpRegions::~OpenmpRegions() { --openmp_regions; }

void keep_off_the_team() { off_the_team = true; }

void run_parts(int parts, int threads, void (*body)(void*, int), void* context) {
  const int wanted = std::min(parts, threads);
  if (wanted <= 1 || in_parallel_region()) return run_in_order(parts, body, context);
  if (off_the_team || openmp_regions.load(std::memory_order_relaxed) > 0)
    return run_in_region(parts, wanted, body, context);
  const FlushDenormals flush;
  if (!Team::instance().run(parts, wanted, body, context)) run_in_order(parts, body, context);
}

bool in_parallel_region() { return Team::runs_here() || omp_in_parallel() != 0; }

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
