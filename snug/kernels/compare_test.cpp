#include "snug/kernels/compare.h"

#include <cmath>

#include "snug/kernels/test_values.h"

namespace snug::kernels {
namespace {

using Bytes = std::vector<uint8_t>;

bool reference(Comparison comparison, float a, float b) {
  switch (comparison) {
    case Comparison::equal:
      return a == b;
    case Comparison::not_equal:
      return a != b;
    case Comparison::less:
      return a < b;
    case Comparison::less_equal:
      return a <= b;
    case Comparison::greater:
      return a > b;
    case Comparison::greater_equal:
      return a >= b;
  }
  return false;
}

// Few distinct values, so that equality happens, and NaN.
Floats coarse_values(int64_t n, unsigned seed) {
  Floats values = random_values(n, -3, 3, seed);
  for (float& value : values) value = std::round(value);
  for (size_t i = 5; i < values.size(); i += 7) values[i] = kTestNaN;
  return values;
}

TEST(Compare, EveryFormMeetsTheReference) {
  for (int k = 0; k < kComparisonCount; ++k) {
    const Comparison comparison = static_cast<Comparison>(k);
    const ComparisonKernels& kernels = comparison_kernels(comparison);
    for (const int64_t columns : {1, 3, 8, 10, 33}) {
      const int64_t rows = 9, n = rows * columns;
      const Floats a = coarse_values(n, 1), b = coarse_values(n, 2);
      std::vector<Bytes> y(7, Bytes(a.size() + 1, 9));
      kernels.same(a.data(), b.data(), y[0].data(), n);
      kernels.scalar_left(a.data(), b.data(), y[1].data(), n);
      kernels.scalar_right(a.data(), b.data(), y[2].data(), n);
      kernels.periodic_left(a.data(), b.data(), y[3].data(), rows, columns);
      kernels.periodic_right(a.data(), b.data(), y[4].data(), rows, columns);
      kernels.row_scalar_left(a.data(), b.data(), y[5].data(), rows, columns);
      kernels.row_scalar_right(a.data(), b.data(), y[6].data(), rows, columns);
      for (size_t i = 0; i < a.size(); ++i) {
        const size_t r = i / static_cast<size_t>(columns), c = i % static_cast<size_t>(columns);
        const float pairs[7][2] = {{a[i], b[i]}, {a[0], b[i]}, {a[i], b[0]}, {a[c], b[i]},
                                   {a[i], b[c]}, {a[r], b[i]}, {a[i], b[r]}};
        for (size_t form = 0; form < 7; ++form) {
          ASSERT_EQ(y[form][i], reference(comparison, pairs[form][0], pairs[form][1]))
              << "comparison " << k << " form " << form;
        }
      }
      for (const Bytes& bytes : y) EXPECT_EQ(bytes.back(), 9);
    }
  }
}

TEST(Compare, LogicReadsAnyByteButZeroAsTrue) {
  const Bytes a = {0, 1, 2, 0, 255, 0}, b = {0, 0, 1, 3, 4, 0};
  Bytes y(6);
  logical_and(a.data(), b.data(), y.data(), 6);
  EXPECT_EQ(y, (Bytes{0, 0, 1, 0, 1, 0}));
  logical_or(a.data(), b.data(), y.data(), 6);
  EXPECT_EQ(y, (Bytes{0, 1, 1, 1, 1, 0}));
  logical_not(a.data(), y.data(), 6);
  EXPECT_EQ(y, (Bytes{1, 0, 0, 1, 0, 1}));
  EXPECT_TRUE(any(a.data(), 6));
  EXPECT_FALSE(all(a.data(), 6));
  EXPECT_TRUE(all(a.data() + 1, 2));
  EXPECT_FALSE(any(a.data(), 0));
  EXPECT_TRUE(all(a.data(), 0));
}

TEST(Compare, FiniteAndSelectAndLabels) {
  for (const int64_t n : kTestLengths) {
    Floats x = random_values(n);
    for (size_t i = 0; i < x.size(); ++i) x[i] = edge_values()[i % edge_values().size()];
    Bytes finite(x.size());
    is_finite(x.data(), finite.data(), n);
    const Floats b = random_values(n, -2, 2, 2);
    Floats y(x.size());
    select(finite.data(), x.data(), b.data(), y.data(), n);
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_EQ(finite[i], std::isfinite(x[i]));
      EXPECT_EQ(y[i], std::isfinite(x[i]) ? x[i] : b[i]);
    }
  }
}

}  // namespace
}  // namespace snug::kernels
