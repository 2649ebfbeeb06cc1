#include "snug/kernels/top_k.h"

#include <algorithm>
#include <numeric>

#include "snug/kernels/test_values.h"

namespace snug::kernels {
namespace {

// By a stable sort, NaN first.
std::vector<int32_t> order_of(const float* x, int64_t n) {
  std::vector<int32_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [x](int32_t a, int32_t b) {
    if (std::isnan(x[a]) || std::isnan(x[b])) return std::isnan(x[a]) && !std::isnan(x[b]);
    return x[a] > x[b];
  });
  return order;
}

void check(const Floats& x, int64_t rows, int64_t columns, int k) {
  SCOPED_TRACE(testing::Message() << rows << " x " << columns << ", k " << k);
  Floats values(static_cast<size_t>(rows * k));
  std::vector<int32_t> places(values.size());
  top_k(x.data(), values.data(), places.data(), rows, columns, k);
  for (int64_t r = 0; r < rows; ++r) {
    const float* row = x.data() + r * columns;
    const std::vector<int32_t> order = order_of(row, columns);
    for (int i = 0; i < k; ++i) {
      const size_t at = static_cast<size_t>(r * k + i);
      ASSERT_EQ(places[at], order[static_cast<size_t>(i)]) << "row " << r << ", " << i;
      ASSERT_TRUE(same_bits({values[at]}, {row[places[at]]}, 1));
    }
  }
}

TEST(TopK, LikeAStableSort) {
  for (const int64_t columns : {1, 5, 16, 31, 64, 100, 256, 1000}) {
    for (const int k : {1, 2, 5, kMostTopK}) {
      if (k > columns) continue;
      check(random_values(6 * columns, -3, 3), 6, columns, k);
      Floats rising = random_values(6 * columns, -3, 3, 2), ties = rising;
      std::sort(rising.begin(), rising.end());
      check(rising, 6, columns, k);
      for (float& value : ties) value = std::floor(value);
      check(ties, 6, columns, k);
      check(Floats(static_cast<size_t>(6 * columns), -kTestInfinity), 6, columns, k);
    }
  }
}

TEST(TopK, NaNInfinitiesAndBothZeros) {
  for (const int64_t columns : {20, 300}) {
    Floats x = random_values(3 * columns, -1, 1);
    for (const int64_t i : {int64_t{3}, columns - 1, columns + 7})
      x[static_cast<size_t>(i)] = kTestNaN;
    x[5] = kTestInfinity;
    x[static_cast<size_t>(2 * columns)] = -kTestInfinity;
    check(x, 3, columns, 5);
    Floats nothing(static_cast<size_t>(columns), 0.0f);
    for (size_t i = 0; i < nothing.size(); i += 2) nothing[i] = -0.0f;
    check(nothing, 1, columns, 4);
    check(Floats(static_cast<size_t>(columns), kTestNaN), 1, columns, 7);
  }
}

}  // namespace
}  // namespace snug::kernels
