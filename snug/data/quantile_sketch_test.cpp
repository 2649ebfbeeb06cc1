#include "snug/data/quantile_sketch.h"

#include <gtest/gtest.h>

#include <random>

namespace snug::testing {
namespace {

TEST(QuantileSketch, IsExactForFewNumbers) {
  QuantileSketch sketch;
  EXPECT_EQ(sketch.quantile(0.5), 0);
  for (const double value : {5.0, 1.0, 9.0}) sketch.add(value);
  EXPECT_EQ(sketch.quantile(0.5), 5);
  sketch.add(6);
  EXPECT_EQ(sketch.quantile(0.5), 5.5);
}

TEST(QuantileSketch, IsCloseForMany) {
  std::mt19937 random(1);
  for (const int count : {5'000, 300'000}) {
    QuantileSketch whole, left, right;
    for (int i = 0; i < count; ++i) {
      const double value = static_cast<double>(random() % 1'000'000) / 1e6;
      whole.add(value * value);
      (i % 3 == 0 ? left : right).add(value * value);
    }
    left.merge(right);
    EXPECT_EQ(left.count(), count);
    for (const QuantileSketch* sketch : {&whole, &left}) {
      for (const double share : {0.1, 0.5, 0.9})
        EXPECT_NEAR(std::sqrt(sketch->quantile(share)), share, 0.01) << count;
    }
  }
}

}  // namespace
}  // namespace snug::testing
