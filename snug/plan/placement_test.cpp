#include "snug/plan/placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>

#include "snug/plan/plan.h"

namespace snug {
namespace {

void expect_no_overlap(const std::vector<Item>& items, const Placement& placement) {
  ASSERT_EQ(items.size(), placement.offsets.size());
  for (size_t a = 0; a < items.size(); ++a) {
    EXPECT_LE(placement.offsets[a] + items[a].bytes, placement.height);
    for (size_t b = 0; b < a; ++b) {
      if (items[a].first > items[b].last || items[b].first > items[a].last) continue;
      EXPECT_TRUE(placement.offsets[a] + items[a].bytes <= placement.offsets[b] ||
                  placement.offsets[b] + items[b].bytes <= placement.offsets[a])
          << a << " and " << b;
    }
  }
}

std::vector<Item> random_items(std::mt19937_64& random, int count, int steps) {
  std::vector<Item> items;
  for (int i = 0; i < count; ++i) {
    const int a = static_cast<int>(random() % steps), b = static_cast<int>(random() % steps);
    items.push_back({std::min(a, b), std::max(a, b), 64 * static_cast<int64_t>(1 + random() % 9)});
  }
  return items;
}

// The least height of any placement: some order packs to it by always taking the lowest place.
int64_t least_height(const std::vector<Item>& items) {
  std::vector<int> order(items.size());
  std::iota(order.begin(), order.end(), 0);
  int64_t least = INT64_MAX;
  Packer packer(items);
  do {
    least = std::min(least, packer.pack(order, Fit::first, least).height);
  } while (std::next_permutation(order.begin(), order.end()));
  return least;
}

TEST(Placement, Empty) {
  EXPECT_EQ(place({}, kUnlimited).height, 0);
  const std::vector<Item> items{{0, 3, 0}};
  EXPECT_EQ(place(items, kUnlimited).height, 0);
}

TEST(Placement, NeverBelowMaxLiveAndNeverOverlapping) {
  std::mt19937_64 random(7);
  for (int trial = 0; trial < 60; ++trial) {
    const auto items = random_items(random, 1 + static_cast<int>(random() % 200), 60);
    const Placement placement = place(items, kUnlimited);
    expect_no_overlap(items, placement);
    EXPECT_GE(placement.height, max_live(items));
    EXPECT_LE(placement.height, max_live(items) * 5 / 4);
  }
}

TEST(Placement, FindsTheOptimumOfSmallOnes) {
  std::mt19937_64 random(11);
  for (int trial = 0; trial < 60; ++trial) {
    const auto items = random_items(random, 7, 8);
    EXPECT_EQ(place(items, kUnlimited).height, least_height(items)) << "trial " << trial;
  }
}

TEST(Placement, ManyItemsStayClose) {
  std::mt19937_64 random(3);
  std::vector<Item> items;
  for (int i = 0; i < 12000; ++i) {
    const int first = i, life = i % 3 == 0 ? 2 * (12000 - i) : 3;
    items.push_back(
        {first, std::min(24000, first + life), 64 * static_cast<int64_t>(1 + random() % 2000)});
  }
  const Placement placement = place(items, kUnlimited);
  EXPECT_LE(placement.height, max_live(items) * 102 / 100);
}

TEST(Placement, IsDeterministic) {
  std::mt19937_64 random(5);
  const auto items = random_items(random, 150, 40);
  EXPECT_EQ(place(items, kUnlimited).offsets, place(items, kUnlimited).offsets);
}

}  // namespace
}  // namespace snug
