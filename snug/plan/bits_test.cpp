#include "snug/plan/bits.h"

#include <gtest/gtest.h>

#include <vector>

namespace snug {
namespace {

Bits<128> set_of(const std::vector<int>& numbers) {
  Bits<128> bits;
  for (const int i : numbers) bits.set(i);
  return bits;
}

std::vector<int> numbers_of(const Bits<128>& bits) {
  std::vector<int> numbers;
  bits.for_each([&](int i) { numbers.push_back(i); });
  return numbers;
}

TEST(Bits, HoldsNumbersInOrder) {
  Bits<128> bits = set_of({127, 0, 64, 63});
  EXPECT_EQ(numbers_of(bits), (std::vector{0, 63, 64, 127}));
  EXPECT_EQ(bits.count(), 4U);
  EXPECT_TRUE(bits[64]);
  EXPECT_FALSE(bits.reset(64)[64]);
  EXPECT_TRUE(Bits<128>().none());
  EXPECT_TRUE(bits.any());
}

TEST(Bits, AreComparedAsSets) {
  const Bits<128> few = set_of({1, 70}), more = set_of({1, 2, 70, 100});
  EXPECT_EQ(numbers_of(more - few), (std::vector{2, 100}));
  EXPECT_EQ(few | set_of({2, 100}), more);
  EXPECT_EQ(few & more, few);
  EXPECT_TRUE(few.is_in(more));
  EXPECT_FALSE(more.is_in(few));
  EXPECT_TRUE(few.meets(set_of({70})));
  EXPECT_FALSE(few.meets(set_of({69, 71})));
  EXPECT_EQ(few.hash(), set_of({70, 1}).hash());
  EXPECT_NE(few.hash(), more.hash());
}

}  // namespace
}  // namespace snug
