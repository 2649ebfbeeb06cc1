#include "snug/data/value_room.h"

#include <gtest/gtest.h>

#include <numeric>

namespace snug {
namespace {

constexpr size_t kMost = size_t{256} << 10, kAll = size_t{8} << 20;

std::vector<size_t> rooms(size_t numbers, size_t texts, size_t labels) {
  std::vector<ValueUse> uses(numbers, ValueUse::numbers);
  uses.insert(uses.end(), texts, ValueUse::texts);
  uses.insert(uses.end(), labels, ValueUse::label);
  uses.push_back(ValueUse::nothing);
  return value_rooms(uses);
}

TEST(ValueRoom, IsEnoughForFewColumns) {
  for (const size_t room : rooms(10, 20, 1)) EXPECT_TRUE(room == kMost || room == 0);
  EXPECT_EQ(rooms(10, 20, 1).back(), 0u);
}

TEST(ValueRoom, OfManyColumnsIsForLabelsAndTextsFirst) {
  const std::vector<size_t> wide = rooms(54'675, 1, 1);
  EXPECT_EQ(wide[54'676], kMost) << "the label";
  EXPECT_EQ(wide[54'675], 4 * wide[0]);
  EXPECT_EQ(rooms(0, 1, 1)[0], kMost);
  const std::vector<size_t> texts = rooms(0, 60'000, 1);
  EXPECT_EQ(texts[60'000], kMost);
  for (const auto& [numbers, some, labels] :
       {std::tuple{54'675, 1, 1}, {0, 60'000, 1}, {100, 100, 40}, {0, 0, 60'000}, {40, 0, 0}}) {
    const std::vector<size_t> all =
        rooms(static_cast<size_t>(numbers), static_cast<size_t>(some), static_cast<size_t>(labels));
    EXPECT_LE(std::accumulate(all.begin(), all.end(), size_t{0}), kAll);
    EXPECT_GT(all[0], 0u);
  }
}

}  // namespace
}  // namespace snug
