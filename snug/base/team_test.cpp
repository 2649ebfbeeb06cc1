#include "snug/base/team.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

#include "snug/base/threads.h"

namespace snug {
namespace {

void nap() { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }

// Long enough for who waits to fall asleep.
TEST(Team, WhoSleepsIsWoken) {
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> runs = 0;
    nap();
    parallel_parts(3, [&](int part) {
      if (part == round % 3) nap();
      ++runs;
    });
    EXPECT_EQ(runs, 3);
  }
}

TEST(Team, RoundsOfDifferentSizesFollowEachOther) {
  std::atomic<int64_t> sum = 0;
  int64_t expected = 0;
  for (int round = 0; round < 20'000; ++round) {
    const int parts = 1 + round % 4;
    parallel_parts(parts, [&](int part) { sum += round + part; });
    for (int part = 0; part < parts; ++part) expected += round + part;
  }
  EXPECT_EQ(sum, expected);
}

TEST(Team, APartStaysOnItsThread) {
  parallel_parts(3, [](int) {});
  // The caller does not wait for who has not begun: it begins last here.
  const auto slow_caller = [&] {
    std::vector<std::thread::id> threads(3);
    std::atomic<int> others = 0;
    parallel_parts(3, [&](int part) {
      threads[part] = std::this_thread::get_id();
      others += part > 0;
      while (part == 0 && others < 2) std::this_thread::yield();
    });
    return threads;
  };
  const std::vector<std::thread::id> first = slow_caller(), again = slow_caller();
  EXPECT_EQ(first, again);
  EXPECT_EQ(first[0], std::this_thread::get_id());
  EXPECT_NE(first[0], first[1]);
  EXPECT_NE(first[1], first[2]);
}

// A hundred threads cannot all have begun when the caller's part of nothing is over.
TEST(Team, NobodyWaitsForWhoHasNotBegun) {
  int by_caller = 0;
  for (int round = 0; round < 50; ++round) {
    std::vector<std::atomic<int>> runs(100);
    std::atomic<int> taken = 0;
    parallel_parts(100, [&, caller = std::this_thread::get_id()](int part) {
      ++runs[part];
      taken += part > 0 && std::this_thread::get_id() == caller;
    });
    for (const auto& count : runs) ASSERT_EQ(count, 1);
    by_caller += taken;
  }
  EXPECT_GT(by_caller, 0);
}

TEST(Team, MoreThreadsThanItCanNumber) {
  std::vector<std::atomic<int>> runs(600);
  parallel_parts(600, [&](int part) { ++runs[part]; });
  for (const auto& count : runs) EXPECT_EQ(count, 1);
}

TEST(Team, SeveralCallersAtOnce) {
  std::atomic<int> runs = 0;
  const auto call = [&] {
    for (int round = 0; round < 2000; ++round) parallel_parts(2, [&](int) { ++runs; });
  };
  std::thread other(call);
  call();
  other.join();
  EXPECT_EQ(runs, 8000);
}

TEST(Team, ItsPartsAreAParallelRegion) {
  std::atomic<int> inside = 0;
  parallel_parts(2, [&](int) { inside += in_parallel_region() && hardware_threads() == 1; });
  EXPECT_EQ(inside, 2);
  EXPECT_FALSE(in_parallel_region());
}

TEST(Team, GivesWayToOpenmpRegions) {
  const OpenmpRegions others;
  std::atomic<int> runs = 0, in_team = 0;
  parallel_parts(2, [&](int) { ++runs, in_team += Team::runs_here(); });
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(in_team, 0);
}

}  // namespace
}  // namespace snug
