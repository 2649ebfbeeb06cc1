#include "snug/base/resident_limit.h"

#include <gtest/gtest.h>

#include <new>
#include <thread>

#include "snug/base/memory.h"

namespace snug {
namespace {

constexpr int64_t kMiB = 1 << 20;

TEST(ResidentLimit, SaysWhatIsResidentWithoutAllocating) {
  EXPECT_NEAR(static_cast<double>(resident_now()), static_cast<double>(resident_bytes()), 2 * kMiB);
}

TEST(ResidentLimit, WhatPassesItIsNotAllocated) {
  expect_room(int64_t{1} << 50);  // Without a limit all is.
  const ResidentLimit limit(resident_now() + 64 * kMiB);
  EXPECT_NO_THROW(expect_room(32 * kMiB));
  EXPECT_THROW(expect_room(96 * kMiB), std::bad_alloc);
  EXPECT_NO_THROW(expect_room(32 * kMiB));
}

// What is small is looked at from time to time.
TEST(ResidentLimit, SmallBlocksPassItInTheEnd) {
  const ResidentLimit limit(resident_now() - kMiB);
  const auto allocate = [] {
    for (int i = 0; i < 1000; ++i) expect_room(100);
  };
  EXPECT_THROW(allocate(), std::bad_alloc);
}

TEST(ResidentLimit, TheSmallerOneHoldsAndEndsWithItsScope) {
  const ResidentLimit outer(resident_now() + 64 * kMiB);
  {
    const ResidentLimit larger(resident_now() + 256 * kMiB);
    EXPECT_THROW(expect_room(128 * kMiB), std::bad_alloc);
    const ResidentLimit smaller(resident_now() + 16 * kMiB);
    EXPECT_THROW(expect_room(32 * kMiB), std::bad_alloc);
  }
  EXPECT_NO_THROW(expect_room(32 * kMiB));
}

// Code that must not stop in its middle is let through; who comes after it is not.
TEST(ResidentLimit, CanBeLiftedForAWhile) {
  const ResidentLimit limit(resident_now() + 16 * kMiB);
  {
    const WithoutResidentLimit whole;
    EXPECT_NO_THROW(expect_room(64 * kMiB));
  }
  EXPECT_THROW(expect_room(64 * kMiB), std::bad_alloc);
}

TEST(ResidentLimit, OtherThreadsAreFree) {
  const ResidentLimit limit(1);
  bool was_free = false;
  std::thread([&] {
    expect_room(kMiB);
    was_free = true;
  }).join();
  EXPECT_TRUE(was_free);
}

}  // namespace
}  // namespace snug
