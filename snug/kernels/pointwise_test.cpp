#include "snug/kernels/pointwise.h"

#include <cmath>

#include "snug/kernels/test_values.h"

namespace snug::kernels {
namespace {

struct Product {
  int64_t rows, depth, columns;
  Floats x, weights, bias;

  Product(int64_t rows_, int64_t depth_, int64_t columns_)
      : rows(rows_),
        depth(depth_),
        columns(columns_),
        x(random_values(rows * depth)),
        weights(random_values(depth * columns, -1, 1, 2)),
        bias(random_values(columns, -1, 1, 3)) {}

  // From weights as they are, or as they stand turned.
  Floats packed(bool turned) const {
    Floats from = weights, to(static_cast<size_t>(pointwise_packed_floats(depth, columns)));
    for (int64_t k = 0; k < depth && turned; ++k) {
      for (int64_t n = 0; n < columns; ++n) from[n * depth + k] = weights[k * columns + n];
    }
    pointwise_pack(from.data(), depth, columns, turned ? 1 : columns, turned ? depth : 1,
                   to.data());
    return to;
  }

  Floats run(int64_t first, int64_t last, bool with_bias, bool turned = false) const {
    Floats y(static_cast<size_t>((last - first) * columns + 1), 77.0f);
    pointwise(x.data() + first * depth, packed(turned).data(), with_bias ? bias.data() : nullptr,
              y.data(), last - first, depth, columns);
    EXPECT_EQ(y.back(), 77.0f);
    y.pop_back();
    return y;
  }
};

void check(const Product& p, bool with_bias) {
  const Floats y = p.run(0, p.rows, with_bias);
  for (int64_t r = 0; r < p.rows; ++r) {
    for (int64_t n = 0; n < p.columns; ++n) {
      double expected = with_bias ? p.bias[n] : 0, size = 1;
      for (int64_t k = 0; k < p.depth; ++k) {
        const double term = double{p.x[r * p.depth + k]} * p.weights[k * p.columns + n];
        expected += term, size += std::abs(term);
      }
      ASSERT_NEAR(y[r * p.columns + n], expected, 1e-6 * size);
    }
  }
  EXPECT_EQ(y, p.run(0, p.rows, with_bias, /*turned=*/true));
}

TEST(Pointwise, MatchesReference) {
  for (const int64_t columns : {16, 32, 48, 64, 80, 144}) {
    if (!pointwise_serves(columns)) continue;
    for (const int64_t depth : {1, 8, 17}) {
      for (const int64_t rows : {1, 7, 8, 9, 40}) {
        check({rows, depth, columns}, false);
        check({rows, depth, columns}, true);
      }
    }
  }
}

// Enough weights for several blocks of columns.
TEST(Pointwise, OfManyWeights) {
  if (pointwise_serves(96)) check({9, 1000, 96}, true);
}

TEST(Pointwise, ARowDoesNotDependOnOthers) {
  if (!pointwise_serves(48)) GTEST_SKIP() << "the library serves here";
  const Product p(21, 10, 48);
  const Floats whole = p.run(0, 21, true);
  Floats parts = p.run(0, 5, true);
  const Floats rest = p.run(5, 21, true);
  parts.insert(parts.end(), rest.begin(), rest.end());
  EXPECT_EQ(parts, whole);
}

TEST(Pointwise, KeepsNaN) {
  if (!pointwise_serves(16)) GTEST_SKIP() << "the library serves here";
  Product p(3, 2, 16);
  p.x[2] = kTestNaN;
  p.weights[0] = 0;
  const Floats y = p.run(0, 3, false);
  for (int i = 0; i < 48; ++i) EXPECT_EQ(std::isnan(y[i]), i / 16 == 1) << i;
}

TEST(Pointwise, ServesWholeVectors) { EXPECT_FALSE(pointwise_serves(17)); }

}  // namespace
}  // namespace snug::kernels
