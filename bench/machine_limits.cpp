#include "bench/machine_limits.h"

#include <cstring>
#include <ctime>
#include <new>

#include "snug/kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/machine_limits.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace snug::bench::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Ten chains of multiply-adds: enough to fill both units. Each begins elsewhere, or the compiler
// would see that all are one. Returns the flops done.
double multiply_add(int64_t rounds, float* sink) {
  const hn::ScalableTag<float> d;
  const auto a = hn::Set(d, 1.0000001f), b = hn::Set(d, 1e-9f);
  auto s0 = hn::Set(d, 0.1f), s1 = hn::Add(s0, s0), s2 = hn::Add(s1, s0), s3 = hn::Add(s2, s0),
       s4 = hn::Add(s3, s0), s5 = hn::Add(s4, s0), s6 = hn::Add(s5, s0), s7 = hn::Add(s6, s0),
       s8 = hn::Add(s7, s0), s9 = hn::Add(s8, s0);
  for (int64_t i = 0; i < rounds; ++i) {
    s0 = hn::MulAdd(s0, a, b);
    s1 = hn::MulAdd(s1, a, b);
    s2 = hn::MulAdd(s2, a, b);
    s3 = hn::MulAdd(s3, a, b);
    s4 = hn::MulAdd(s4, a, b);
    s5 = hn::MulAdd(s5, a, b);
    s6 = hn::MulAdd(s6, a, b);
    s7 = hn::MulAdd(s7, a, b);
    s8 = hn::MulAdd(s8, a, b);
    s9 = hn::MulAdd(s9, a, b);
  }
  const auto sum = hn::Add(hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)),
                           hn::Add(hn::Add(hn::Add(s4, s5), hn::Add(s6, s7)), hn::Add(s8, s9)));
  *sink = hn::GetLane(sum);
  return 20.0 * static_cast<double>(rounds) * static_cast<double>(hn::Lanes(d));
}

}  // namespace snug::bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace snug::bench {

HWY_EXPORT(multiply_add);

double thread_ns() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

double peak_gflops() {
  float sink = 0;
  double flops = 0;
  const double ns = best_ns([&] { flops = HWY_DYNAMIC_DISPATCH(multiply_add)(20'000, &sink); });
  return flops / ns;
}

// Both begin at a page. Where the target stands less than a cache line behind the source modulo a
// page, memcpy of more than 2 KiB is about 17 times slower on some CPUs (seen on AMD EPYC), which
// would say nothing about the cache.
double copy_gigabytes(int64_t floats) {
  constexpr std::align_val_t kPage{4096};
  const size_t bytes = static_cast<size_t>(floats) * sizeof(float);
  void* const from = ::operator new(bytes, kPage);
  void* const to = ::operator new(bytes, kPage);
  std::memset(from, 1, bytes);
  const double ns = best_ns([&] { std::memcpy(to, from, bytes); });
  ::operator delete(from, kPage);
  ::operator delete(to, kPage);
  return 2.0 * static_cast<double>(bytes) / ns;
}

}  // namespace snug::bench
#endif
