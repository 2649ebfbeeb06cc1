#include "snug/data/permutation.h"

#include <gtest/gtest.h>

#include <vector>

namespace snug {
namespace {

std::vector<int64_t> order(int64_t size, uint64_t seed, uint64_t epoch) {
  const Permutation permutation(size, seed, epoch);
  std::vector<int64_t> rows(size);
  for (int64_t i = 0; i < size; ++i) rows[i] = permutation(i);
  return rows;
}

TEST(Permutation, HoldsEveryRowOnce) {
  for (const int64_t size : {0, 1, 2, 3, 4, 5, 15, 16, 17, 100, 1000, 4096, 65537}) {
    std::vector<int> seen(size);
    for (const int64_t row : order(size, 42, 7)) ++seen.at(row);
    EXPECT_EQ(seen, std::vector<int>(size, 1)) << size;
  }
}

TEST(Permutation, DependsOnSeedAndEpochOnly) {
  EXPECT_EQ(order(1000, 1, 2), order(1000, 1, 2));
  EXPECT_NE(order(1000, 1, 2), order(1000, 1, 3));
  EXPECT_NE(order(1000, 1, 2), order(1000, 2, 2));
}

// Over many epochs every row is equally often first, and every distance between neighbours equally
// frequent.
TEST(Permutation, IsUniform) {
  constexpr int64_t kSize = 50;
  constexpr int kEpochs = 20'000;
  std::vector<double> first(kSize), distance(kSize);
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    const Permutation permutation(kSize, 3, epoch);
    first[permutation(0)] += 1;
    distance[(permutation(1) - permutation(0) + kSize) % kSize] += 1;
  }
  double first_chi = 0, distance_chi = 0;
  const double expected_first = double(kEpochs) / kSize,
               expected_distance = double(kEpochs) / (kSize - 1);
  for (int64_t i = 0; i < kSize; ++i) {
    first_chi += (first[i] - expected_first) * (first[i] - expected_first) / expected_first;
    if (i > 0)
      distance_chi +=
          (distance[i] - expected_distance) * (distance[i] - expected_distance) / expected_distance;
  }
  // 49 and 48 degrees of freedom: 85 is passed once in a thousand.
  EXPECT_LT(first_chi, 85);
  EXPECT_LT(distance_chi, 85);
}

}  // namespace
}  // namespace snug
