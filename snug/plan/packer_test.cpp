#include "snug/plan/packer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace snug {
namespace {

std::vector<Item> random_items(int count, int steps, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  std::vector<Item> items;
  for (int i = 0; i < count; ++i) {
    const int first = pick(0, steps - 1), life = pick(0, 3) == 0 ? pick(0, steps) : pick(0, 9);
    items.push_back({first, std::min(steps - 1, first + life), pick(0, 20) * 8});
  }
  return items;
}

// The same by looking at every item that was placed.
int64_t place_plainly(const std::vector<Item>& items, const std::vector<int>& placed,
                      const std::vector<int64_t>& offsets, int item, Fit fit) {
  std::vector<std::pair<int64_t, int64_t>> taken;
  for (const int other : placed) {
    if (items[other].first <= items[item].last && items[item].first <= items[other].last)
      taken.push_back({offsets[other], offsets[other] + items[other].bytes});
  }
  std::sort(taken.begin(), taken.end());
  int64_t low = 0, best = -1, best_gap = INT64_MAX;
  for (const auto& [from, to] : taken) {
    if (from - low >= items[item].bytes && from - low < best_gap) {
      if (fit == Fit::first) return low;
      best = low;
      best_gap = from - low;
    }
    low = std::max(low, to);
  }
  return best >= 0 ? best : low;
}

TEST(Packer, TakesTheSamePlaceAsALookAtAllItems) {
  for (const int count : {1, 50, 400, 3000}) {
    const std::vector<Item> items = random_items(count, 1 + count * 2 / 3, count);
    Packer packer(items);
    std::vector<int> order(count);
    std::iota(order.begin(), order.end(), 0);
    for (const Fit fit : {Fit::first, Fit::best}) {
      const Placement placement = packer.pack(order, fit, INT64_MAX);
      std::vector<int> placed;
      for (const int i : order) {
        if (items[i].bytes == 0) continue;
        ASSERT_EQ(placement.offsets[i], place_plainly(items, placed, placement.offsets, i, fit))
            << "item " << i << " of " << count;
        placed.push_back(i);
      }
    }
  }
}

TEST(Packer, LeavesWhatIsPlacedWhereItIs) {
  const std::vector<Item> items = {{0, 9, 64}, {0, 4, 128}, {5, 9, 64}};
  const Placement placement = Packer(items).pack_around(std::vector{0}, std::vector<int64_t>{64},
                                                        std::vector{1, 2}, Fit::first, INT64_MAX);
  EXPECT_EQ(placement.offsets, (std::vector<int64_t>{64, 128, 0}));
  EXPECT_EQ(placement.height, 256);
}

TEST(Packer, StopsAtTheLimit) {
  const std::vector<Item> items = {{0, 1, 64}, {0, 1, 64}, {0, 1, 64}};
  EXPECT_EQ(Packer(items).pack(std::vector{0, 1, 2}, Fit::best, 128).height, 128);
}

}  // namespace
}  // namespace snug
