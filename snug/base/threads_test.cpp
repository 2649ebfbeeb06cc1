#include "snug/base/threads.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <limits>
#include <thread>
#include <vector>

namespace snug {
namespace {

TEST(Threads, EachPartRunsOnce) {
  for (const int parts : {1, 2, 3, 8}) {
    std::vector<std::atomic<int>> runs(static_cast<size_t>(parts));
    parallel_parts(parts, [&](int part) { ++runs[static_cast<size_t>(part)]; });
    for (const auto& count : runs) EXPECT_EQ(count, 1);
  }
}

TEST(Threads, PartsInsidePartsRunToo) {
  std::atomic<int> runs = 0;
  parallel_parts(2, [&](int) { parallel_parts(3, [&](int) { ++runs; }); });
  EXPECT_EQ(runs, 6);
}

TEST(Threads, RangesCoverEverythingOnceAtMultiplesOfTheGrain) {
  for (const int64_t size : {0, 1, 7, 64, 1000}) {
    for (const int parts : {1, 2, 3, 16}) {
      for (const int64_t grain : {1, 16}) {
        std::vector<std::atomic<int>> hits(static_cast<size_t>(size));
        parallel_ranges(size, parts, grain, [&](int64_t begin, int64_t end) {
          EXPECT_EQ(begin % grain, 0);
          EXPECT_LT(begin, end);
          for (int64_t i = begin; i < end; ++i) ++hits[static_cast<size_t>(i)];
        });
        for (const auto& count : hits) EXPECT_EQ(count, 1);
      }
    }
  }
}

TEST(Threads, HardwareThreadsFollowTheAffinity) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  EXPECT_EQ(hardware_threads(), CPU_COUNT(&before));
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &before)) {
      CPU_SET(cpu, &one);
      break;
    }
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  EXPECT_EQ(hardware_threads(), 1);
  sched_setaffinity(0, sizeof(before), &before);
}

TEST(Threads, ShortSlicesChangeNoPriority) {
  std::thread([] {
    ASSERT_EQ(setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 5), 0);
    ask_for_short_slices();
    EXPECT_EQ(getpriority(PRIO_PROCESS, static_cast<id_t>(gettid())), 5);
    EXPECT_EQ(sched_getscheduler(0), SCHED_OTHER);
  }).join();
}

#if defined(__SSE__)
float denormal_product() {
  volatile float tiny = std::numeric_limits<float>::min();
  return tiny * 0.5f;
}

TEST(FlushDenormals, LastsAsLongAsItLives) {
  EXPECT_GT(denormal_product(), 0.0f);
  {
    const FlushDenormals flush;
    EXPECT_EQ(denormal_product(), 0.0f);
  }
  EXPECT_GT(denormal_product(), 0.0f);
}

TEST(FlushDenormals, HoldsInEveryPartOfAParallelRun) {
  std::vector<float> products(4, 1.0f);
  parallel_parts(4, [&](int part) { products[static_cast<size_t>(part)] = denormal_product(); });
  for (const float product : products) EXPECT_EQ(product, 0.0f);
  EXPECT_GT(denormal_product(), 0.0f);
}
#endif

}  // namespace
}  // namespace snug
