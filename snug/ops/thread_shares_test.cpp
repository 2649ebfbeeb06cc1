#include "snug/ops/thread_shares.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace snug::ops {
namespace {

TEST(ThreadShares, CoverEveryElementOnce) {
  for (const int64_t grain : {1, 64}) {
    ThreadShares shares(grain);
    const std::vector<int64_t> sizes = {1, 100'000, 70, 0, 16'384, 5, 333};
    for (const int64_t size : sizes) shares.add(size, size >= ThreadShares::kLarge);
    for (const int parts : {1, 2, 3, 16}) {
      for (size_t i = 0; i < sizes.size(); ++i) {
        std::vector<int> hits(static_cast<size_t>(sizes[i]));
        for (int part = 0; part < parts; ++part) {
          const auto [begin, end] = shares.share(i, part, parts);
          for (int64_t at = begin; at < end; ++at) ++hits[static_cast<size_t>(at)];
        }
        EXPECT_EQ(hits, std::vector<int>(hits.size(), 1)) << sizes[i] << " in " << parts;
      }
    }
  }
}

TEST(ThreadShares, CutLargeArraysAlikeWhateverStandsBeside) {
  ThreadShares shares(64);
  shares.add(10'000, false);
  shares.add(200 * 512, true);
  EXPECT_EQ(shares.share(1, 0, 2).end, 100 * 512);
  EXPECT_EQ(shares.share(1, 1, 2).begin, 100 * 512);
}

TEST(ThreadShares, ShareOutManySmallArrays) {
  ThreadShares shares(64);
  for (int i = 0; i < 100; ++i) shares.add(64, false);
  int64_t first = 0;
  for (size_t i = 0; i < 100; ++i) {
    const auto [begin, end] = shares.share(i, 0, 2);
    first += std::max<int64_t>(0, end - begin);
  }
  EXPECT_EQ(first, 3200);
}

}  // namespace
}  // namespace snug::ops
