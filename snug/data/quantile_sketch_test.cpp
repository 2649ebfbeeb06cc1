#include "snug/data/quantile_sketch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace snug {
namespace {

TEST(QuantileSketch, FewNumbersHaveTheirExactMedian) {
  EXPECT_EQ(QuantileSketch().median(), 0);
  QuantileSketch odd, even;
  for (const double number : {5.0, -1.0, 3.0}) odd.add(number);
  for (const double number : {5.0, -1.0, 3.0, 4.0}) even.add(number);
  EXPECT_EQ(odd.median(), 3);
  EXPECT_EQ(even.median(), 3);
  EXPECT_EQ(even.quantile(0.75), 4);
  EXPECT_EQ(even.quantile(0.76), 5);
}

// Sorted, turned, random and skewed, whole and merged from blocks: the rank is right to 1 %.
TEST(QuantileSketch, TheRankIsRightToOnePercent) {
  std::mt19937_64 random(1);
  constexpr int kCount = 200'000;
  for (int kind = 0; kind < 4; ++kind) {
    std::vector<double> numbers;
    for (int i = 0; i < kCount; ++i) {
      const double chance = static_cast<double>(random() % 1'000'000) / 1e6;
      numbers.push_back(kind == 0   ? i
                        : kind == 1 ? -i
                        : kind == 2 ? chance
                                    : std::exp(20 * chance));
    }
    QuantileSketch whole, merged, block;
    for (size_t i = 0; i < numbers.size(); ++i) {
      whole.add(numbers[i]);
      block.add(numbers[i]);
      if (i % 7001 != 7000 && i + 1 != numbers.size()) continue;
      merged.merge(block);
      block = {};
    }
    EXPECT_EQ(whole.count(), kCount);
    EXPECT_EQ(merged.count(), kCount);
    for (const double median : {whole.median(), merged.median()}) {
      const auto below = std::ranges::count_if(numbers, [&](double n) { return n < median; });
      EXPECT_NEAR(static_cast<double>(below) / kCount, 0.5, 0.01) << kind;
    }
  }
}

}  // namespace
}  // namespace snug
