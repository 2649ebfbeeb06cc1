#include "snug/kernels/binary.h"

#include <cmath>

#include "snug/kernels/test_values.h"

namespace snug::kernels {
namespace {

double reference(Binary function, double a, double b) {
  const double nan = a + b;
  switch (function) {
    case Binary::add:
      return a + b;
    case Binary::subtract:
      return a - b;
    case Binary::multiply:
      return a * b;
    case Binary::divide:
      return a / b;
    case Binary::divide_no_nan:
      return std::isnan(nan) ? nan : b == 0 ? 0 : a / b;
    case Binary::maximum:
      return std::isnan(a) || std::isnan(b) ? nan : std::max(a, b);
    case Binary::minimum:
      return std::isnan(a) || std::isnan(b) ? nan : std::min(a, b);
    case Binary::squared_difference:
      return (a - b) * (a - b);
    case Binary::pow:
      return std::pow(a, b);
  }
  return 0;
}

std::vector<Binary> functions() {
  std::vector<Binary> all;
  for (int i = 0; i < kBinaryCount; ++i) all.push_back(static_cast<Binary>(i));
  return all;
}

void expect_result(Binary function, float y, float a, float b) {
  SCOPED_TRACE(testing::Message() << "function " << static_cast<int>(function) << " of " << a
                                  << ", " << b);
  expect_close(y, reference(function, a, b), 5e-7,
               std::abs(b) < 9 ? 2e-7 * std::abs(b) + 1e-37 : 1e-37);
}

TEST(Binary, SameSizeMeetsTheReferenceAndEdges) {
  for (const Binary function : functions()) {
    for (const int64_t n : kTestLengths) {
      const Floats a = random_values(n, -3, 3), b = random_values(n, -3, 3, 2);
      Floats y(a.size() + 1, 77.0f);
      binary_kernels(function).same(a.data(), b.data(), y.data(), n);
      for (size_t i = 0; i < a.size(); ++i) expect_result(function, y[i], a[i], b[i]);
      EXPECT_EQ(y.back(), 77.0f);
      Floats over = a;
      binary_kernels(function).same(over.data(), b.data(), over.data(), n);
      EXPECT_TRUE(same_bits(over, y, n));
    }
    for (const float a : edge_values()) {
      for (const float b : {0.0f, 1.0f, -2.0f, kTestNaN, kTestInfinity, -kTestInfinity}) {
        float y = 0;
        binary_kernels(function).same(&a, &b, &y, 1);
        expect_result(function, y, a, b);
      }
    }
  }
}

// Powers from 2^-125 to 2^125 of numbers near 1, of usual ones and of all.
TEST(Binary, PowersKeepTheirDigitsWhereTheExponentIsLarge) {
  for (const float range : {0.01f, 1.0f, 120.0f}) {
    const Floats logs = random_values(20'000, -range, range),
                 goals = random_values(20'000, -125, 125, 2);
    Floats a(logs.size()), b(logs.size()), y(logs.size());
    for (size_t i = 0; i < a.size(); ++i) {
      a[i] = std::exp2(logs[i]);
      b[i] = static_cast<float>(goals[i] / std::log2(double{a[i]} + 1e-9));
    }
    binary_kernels(Binary::pow).same(a.data(), b.data(), y.data(), static_cast<int64_t>(a.size()));
    for (size_t i = 0; i < a.size(); ++i) expect_result(Binary::pow, y[i], a[i], b[i]);
  }
}

TEST(Binary, APowerDoesNotDependOnThoseBesideIt) {
  Floats a = random_values(32, -3, 3), b(a.size(), 2.0f), y(a.size()), alone(a.size());
  b[20] = 1.5f;
  a[5] = -a[5];
  binary_kernels(Binary::pow).same(a.data(), b.data(), y.data(), 32);
  for (size_t i = 0; i < a.size(); ++i)
    binary_kernels(Binary::pow).same(&a[i], &b[i], &alone[i], 1);
  EXPECT_TRUE(same_bits(y, alone, 32));
}

TEST(Binary, ScalarForms) {
  for (const Binary function : functions()) {
    for (const int64_t n : kTestLengths) {
      const Floats x = random_values(n, -3, 3);
      const float s = 1.75f;
      Floats left(x.size()), right(x.size());
      binary_kernels(function).scalar_left(&s, x.data(), left.data(), n);
      binary_kernels(function).scalar_right(x.data(), &s, right.data(), n);
      for (size_t i = 0; i < x.size(); ++i) {
        expect_result(function, left[i], s, x[i]);
        expect_result(function, right[i], x[i], s);
      }
    }
  }
}

TEST(Binary, RowForms) {
  for (const Binary function : functions()) {
    const BinaryKernels& kernels = binary_kernels(function);
    for (const int64_t columns : {1, 3, 8, 10, 16, 33, 100}) {
      for (const int64_t rows : {1, 5, 40}) {
        const Floats x = random_values(rows * columns, -3, 3);
        const Floats row = random_values(columns, -3, 3, 2),
                     scalars = random_values(rows, -3, 3, 3);
        Floats y[4];
        for (Floats& out : y) out.resize(x.size());
        kernels.periodic_left(row.data(), x.data(), y[0].data(), rows, columns);
        kernels.periodic_right(x.data(), row.data(), y[1].data(), rows, columns);
        kernels.row_scalar_left(scalars.data(), x.data(), y[2].data(), rows, columns);
        kernels.row_scalar_right(x.data(), scalars.data(), y[3].data(), rows, columns);
        for (size_t i = 0; i < x.size(); ++i) {
          const size_t r = i / static_cast<size_t>(columns), c = i % static_cast<size_t>(columns);
          expect_result(function, y[0][i], row[c], x[i]);
          expect_result(function, y[1][i], x[i], row[c]);
          expect_result(function, y[2][i], scalars[r], x[i]);
          expect_result(function, y[3][i], x[i], scalars[r]);
        }
        ASSERT_FALSE(testing::Test::HasFailure()) << rows << " rows of " << columns;
      }
    }
  }
}

}  // namespace
}  // namespace snug::kernels
