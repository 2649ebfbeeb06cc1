#include "snug/base/beside_thread.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace snug {
namespace {

TEST(BesideThread, DoesJobsOneAfterTheOther) {
  BesideThread beside;
  std::vector<int> done;
  for (int i = 0; i < 100; ++i) beside.start([&done, i] { done.push_back(i); });
  beside.wait();
  ASSERT_EQ(done.size(), 100);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(done[i], i);
}

TEST(BesideThread, RunsBesideItsOwner) {
  BesideThread beside;
  std::atomic<bool> may_end = false;
  const auto owner = std::this_thread::get_id();
  std::thread::id worker;
  beside.start([&] {
    worker = std::this_thread::get_id();
    may_end.wait(false);
  });
  EXPECT_TRUE(beside.is_busy());
  may_end = true;
  may_end.notify_all();
  beside.wait();
  EXPECT_FALSE(beside.is_busy());
  EXPECT_NE(worker, owner);
}

TEST(BesideThread, BeginsThoughNobodyWaits) {
  BesideThread beside;
  beside.prepare();
  bool done = false;
  beside.start([&] { done = true; });
  while (beside.is_busy()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(done);
}

TEST(BesideThread, ThrowsWhatAJobThrewOnce) {
  BesideThread beside;
  beside.start([] { throw std::runtime_error("no disk"); });
  EXPECT_THROW(beside.wait(), std::runtime_error);
  EXPECT_NO_THROW(beside.wait());
  beside.start([] { throw 7; });
  EXPECT_THROW(beside.start([] { FAIL() << "must not begin"; }), int);
  beside.start([] { throw 7; });
  while (beside.is_busy()) std::this_thread::yield();
  EXPECT_THROW(beside.look(), int);
  EXPECT_NO_THROW(beside.look());
}

TEST(BesideThread, WaitsForItsJobWhenItGoes) {
  bool done = false;
  {
    BesideThread beside;
    beside.start([&] {
      std::this_thread::yield();
      done = true;
    });
  }
  EXPECT_TRUE(done);
  const BesideThread unused;
  {
    BesideThread fails;
    fails.start([] { throw 7; });
  }
}

}  // namespace
}  // namespace snug
