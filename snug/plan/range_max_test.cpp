#include "snug/plan/range_max.h"

#include <gtest/gtest.h>

#include <random>

namespace snug {
namespace {

TEST(RangeMax, IsWhatALoopFinds) {
  std::mt19937_64 random(1);
  for (const int size : {1, 2, 7, 64, 100}) {
    std::vector<int64_t> numbers(size);
    for (int64_t& number : numbers) number = static_cast<int64_t>(random() % 1000);
    RangeMax tree(numbers);
    for (int i = 0; i < 200; ++i) {
      const int first = static_cast<int>(random() % size);
      const int last = first + 1 + static_cast<int>(random() % (size - first));
      const int64_t number = static_cast<int64_t>(random() % 200) - 100;
      tree.add(first, last, number);
      for (int p = first; p < last; ++p) numbers[p] += number;
      const int from = static_cast<int>(random() % size);
      EXPECT_EQ(tree.most(from, size), *std::max_element(numbers.begin() + from, numbers.end()));
      EXPECT_EQ(tree.most(first, last),
                *std::max_element(numbers.begin() + first, numbers.begin() + last));
    }
  }
}

TEST(RangeMax, OfNoPositionIsLow) {
  const RangeMax tree({3, 4});
  EXPECT_LT(tree.most(1, 1), INT64_MIN / 4);
}

}  // namespace
}  // namespace snug
