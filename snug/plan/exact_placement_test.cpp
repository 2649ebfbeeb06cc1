#include "snug/plan/exact_placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "snug/plan/placement.h"

namespace snug {
namespace {

constexpr int64_t kWork = 10'000'000;

void expect_valid(const std::vector<Item>& items, const Placement& placement, int64_t capacity) {
  ASSERT_EQ(items.size(), placement.offsets.size());
  for (size_t a = 0; a < items.size(); ++a) {
    EXPECT_LE(placement.offsets[a] + items[a].bytes, capacity);
    for (size_t b = 0; b < a; ++b) {
      if (items[a].first > items[b].last || items[b].first > items[a].last) continue;
      EXPECT_TRUE(placement.offsets[a] + items[a].bytes <= placement.offsets[b] ||
                  placement.offsets[b] + items[b].bytes <= placement.offsets[a]);
    }
  }
}

std::vector<Item> random_items(std::mt19937_64& random, int count, int steps, int sizes) {
  std::vector<Item> items;
  for (int i = 0; i < count; ++i) {
    const int a = static_cast<int>(random() % steps), b = static_cast<int>(random() % steps);
    items.push_back({std::min(a, b), std::max(a, b), static_cast<int64_t>(1 + random() % sizes)});
  }
  return items;
}

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

// The arena cut into pieces at random: a placement without a single wasted byte exists.
std::vector<Item> perfect_items(std::mt19937_64& random, int count, int steps, int64_t height) {
  struct Piece {
    Item item;
    int64_t offset;
  };
  std::vector<Piece> pieces{{{0, steps - 1, height}, 0}};
  while (static_cast<int>(pieces.size()) < count) {
    Piece& piece = pieces[random() % pieces.size()];
    Piece other = piece;
    if (random() % 2 == 0 && piece.item.bytes > 1) {
      other.item.bytes = 1 + static_cast<int64_t>(random() % (piece.item.bytes - 1));
      piece.item.bytes -= other.item.bytes;
    } else if (piece.item.last > piece.item.first) {
      const int cut =
          piece.item.first + static_cast<int>(random() % (piece.item.last - piece.item.first));
      other.item.first = cut + 1;
      piece.item.last = cut;
    } else {
      continue;
    }
    pieces.push_back(other);
  }
  std::vector<Item> items;
  for (const Piece& piece : pieces) items.push_back(piece.item);
  return items;
}

TEST(ExactPlacement, AgreesWithAllOrders) {
  std::mt19937_64 random(2);
  for (int trial = 0; trial < 150; ++trial) {
    const auto items = random_items(random, 7, 6, 9);
    const int64_t least = least_height(items);
    const ExactPlacement at = place_exactly(items, least, kWork);
    ASSERT_EQ(at.outcome, Outcome::found) << "trial " << trial;
    expect_valid(items, at.placement, least);
    EXPECT_EQ(place_exactly(items, least - 1, kWork).outcome, Outcome::impossible)
        << "trial " << trial;
  }
}

TEST(ExactPlacement, FillsThoseWithHoles) {
  std::mt19937_64 random(9);
  for (int trial = 0; trial < 300; ++trial) {
    auto items = perfect_items(random, 12 + trial % 20, 12, 60);
    for (int hole = 0; hole < 3; ++hole) items.erase(items.begin() + random() % items.size());
    const ExactPlacement exact = place_exactly(items, 60, kWork);
    ASSERT_EQ(exact.outcome, Outcome::found) << "trial " << trial;
    expect_valid(items, exact.placement, 60);
  }
}

TEST(ExactPlacement, FillsThePerfectOnes) {
  std::mt19937_64 random(4);
  for (int trial = 0; trial < 30; ++trial) {
    const auto items = perfect_items(random, 20 + 3 * trial, 40, 1000);
    const ExactPlacement exact = place_exactly(items, 1000, kWork);
    ASSERT_EQ(exact.outcome, Outcome::found) << "trial " << trial;
    expect_valid(items, exact.placement, 1000);
    EXPECT_EQ(place_exactly(items, 999, kWork).outcome, Outcome::impossible);
  }
}

TEST(ExactPlacement, GivesUp) {
  std::mt19937_64 random(8);
  const auto items = perfect_items(random, 300, 100, 1 << 20);
  EXPECT_EQ(place_exactly(items, 1 << 20, 10).outcome, Outcome::gave_up);
}

TEST(ExactPlacement, HotWindowLeavesTheRestToThePacker) {
  std::mt19937_64 random(6);
  auto items = perfect_items(random, 60, 40, 1000);
  for (int i = 0; i < 5000; ++i) {
    const int first = 50 + static_cast<int>(random() % 5000);
    items.push_back({first, first + 3, static_cast<int64_t>(1 + random() % 20)});
  }
  const ExactPlacement exact = place_hot_window(items, 1000, kWork);
  ASSERT_EQ(exact.outcome, Outcome::found);
  EXPECT_LE(exact.placement.height, 1000);
  expect_valid({items.begin(), items.begin() + 60},
               {{exact.placement.offsets.begin(), exact.placement.offsets.begin() + 60}, 0}, 1000);
  EXPECT_EQ(place_hot_window(items, 990, kWork).outcome, Outcome::impossible);
}

}  // namespace
}  // namespace snug
