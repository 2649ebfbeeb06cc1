#include "snug/data/permutation.h"

#include <gtest/gtest.h>

#include <cmath>
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

double chi_square(const std::vector<double>& counts, double expected) {
  double sum = 0;
  for (const double count : counts) sum += (count - expected) * (count - expected) / expected;
  return sum;
}

// Over many epochs every row is equally often first, and every distance between neighbours equally
// frequent: for sizes just above and just below a power of two.
TEST(Permutation, IsUniform) {
  constexpr int kEpochs = 20'000;
  for (const int64_t size : {3, 5, 17, 33, 50, 65, 100, 127, 129}) {
    std::vector<double> first(size), distance(size - 1);
    for (int epoch = 0; epoch < kEpochs; ++epoch) {
      const Permutation permutation(size, 3, epoch);
      first[permutation(0)] += 1;
      distance[(permutation(1) - permutation(0) + size) % size - 1] += 1;
    }
    // Passed less than once in a thousand, with any number of degrees of freedom.
    const auto limit = [](double freedom) { return freedom + 4.2 * std::sqrt(2 * freedom) + 5; };
    EXPECT_LT(chi_square(first, double(kEpochs) / size), limit(size - 1)) << size;
    EXPECT_LT(chi_square(distance, double(kEpochs) / (size - 1)), limit(size - 2)) << size;
  }
}

}  // namespace
}  // namespace snug
