#include "snug/kernels/reduce.h"

#include <algorithm>
#include <cmath>

#include "snug/kernels/test_values.h"

namespace snug::kernels {
namespace {

const Reduction kAll[] = {Reduction::sum,    Reduction::mean, Reduction::max,
                          Reduction::min,    Reduction::prod, Reduction::sum_squares,
                          Reduction::sum_abs};

double reference(Reduction reduction, const std::vector<double>& x) {
  double sum = 0, prod = 1, squares = 0, magnitudes = 0;
  double most = -INFINITY, least = INFINITY;
  for (const double v : x) {
    sum += v, prod *= v, squares += v * v, magnitudes += std::abs(v);
    most = std::isnan(v) || std::isnan(most) ? NAN : std::max(most, v);
    least = std::isnan(v) || std::isnan(least) ? NAN : std::min(least, v);
  }
  switch (reduction) {
    case Reduction::sum:
      return sum;
    case Reduction::mean:
      return sum / static_cast<double>(x.size());
    case Reduction::max:
      return most;
    case Reduction::min:
      return least;
    case Reduction::prod:
      return prod;
    case Reduction::sum_squares:
      return squares;
    case Reduction::sum_abs:
      return magnitudes;
  }
  return 0;
}

// Values near 1, so that products neither vanish nor explode.
Floats tame_values(int64_t n, unsigned seed = 1) { return random_values(n, 0.9f, 1.1f, seed); }

void check_middle(const Floats& x, int64_t outer, int64_t middle, int64_t inner) {
  for (const Reduction reduction : kAll) {
    SCOPED_TRACE(testing::Message() << "reduction " << static_cast<int>(reduction) << " of "
                                    << outer << ", " << middle << ", " << inner);
    Floats y(static_cast<size_t>(outer * inner) + 1, 77.0f);
    reduce_middle(reduction, x.data(), y.data(), outer, middle, inner);
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t i = 0; i < inner; ++i) {
        std::vector<double> column;
        for (int64_t m = 0; m < middle; ++m) {
          column.push_back(x[static_cast<size_t>((o * middle + m) * inner + i)]);
        }
        expect_close(y[static_cast<size_t>(o * inner + i)], reference(reduction, column),
                     reduction == Reduction::prod ? 1e-4 : 1e-6);
      }
    }
    EXPECT_EQ(y.back(), 77.0f);
  }
}

TEST(Reduce, StretchesMeetTheReference) {
  std::vector<int64_t> lengths = kTestLengths;
  lengths.push_back(5000);
  for (const int64_t n : lengths) {
    Floats x = tame_values(n);
    const std::vector<double> doubles(x.begin(), x.end());
    for (const Reduction reduction : kAll) {
      SCOPED_TRACE(testing::Message() << static_cast<int>(reduction) << " of " << n);
      expect_close(reduce(reduction, x.data(), n), reference(reduction, doubles),
                   reduction == Reduction::prod ? 1e-4 : 1e-6);
    }
    for (size_t bad = 0; bad < x.size(); bad += 1 + x.size() / 5) {
      Floats with_nan = x;
      with_nan[bad] = kTestNaN;
      for (const Reduction reduction : kAll) {
        EXPECT_TRUE(std::isnan(reduce(reduction, with_nan.data(), n)));
      }
    }
  }
}

TEST(Reduce, AMillionElementsKeepTheirDigits) {
  const Floats x = random_values(1'000'003, 0, 1);
  const std::vector<double> doubles(x.begin(), x.end());
  expect_close(reduce(Reduction::sum, x.data(), 1'000'003), reference(Reduction::sum, doubles),
               2e-7);
}

TEST(Reduce, MiddleAxes) {
  for (const int64_t middle : {1, 5, 300}) {
    for (const int64_t inner : {1, 2, 3, 8, 10, 33, 70, 200}) {
      check_middle(tame_values(3 * middle * inner), 3, middle, inner);
    }
  }
}

TEST(Reduce, ColumnSumsAccumulate) {
  for (const int64_t columns : {1, 3, 10, 16, 64, 65, 300}) {
    for (const int64_t rows : {0, 1, 7, 1000, 5000}) {
      const Floats x = random_values(rows * columns, 0, 1);
      Floats y(static_cast<size_t>(columns), 2.0f);
      column_sums(x.data(), y.data(), rows, columns, Output::add);
      for (int64_t c = 0; c < columns; ++c) {
        double sum = 2;
        for (int64_t r = 0; r < rows; ++r) sum += x[static_cast<size_t>(r * columns + c)];
        expect_close(y[static_cast<size_t>(c)], sum, 1e-6);
      }
    }
  }
}

TEST(Reduce, NaNStaysInItsColumn) {
  Floats x = tame_values(300 * 11);
  x[150 * 11 + 4] = kTestNaN;
  for (const Reduction reduction : kAll) {
    Floats y(11);
    reduce_columns(reduction, x.data(), y.data(), 300, 11);
    for (size_t c = 0; c < 11; ++c) EXPECT_EQ(std::isnan(y[c]), c == 4);
  }
}

TEST(Reduce, FirstOfEqualsAndFirstNaNWin) {
  for (const int64_t n : {1, 3, 17, 100}) {
    const Floats x = random_values(n);
    EXPECT_EQ(arg_max(x.data(), n), std::max_element(x.begin(), x.end()) - x.begin());
    const Floats same(static_cast<size_t>(n), 0.5f);
    EXPECT_EQ(arg_max(same.data(), n), 0);
  }
  Floats x = random_values(40);
  x[11] = x[30] = kTestNaN;
  EXPECT_EQ(arg_max(x.data(), 40), 11);
  const Floats infinite(5, -kTestInfinity);
  EXPECT_EQ(arg_max(infinite.data(), 5), 0);
  int32_t places[2];
  const Floats rows = {1, 5, 2, 7, 3, 7};
  arg_max_rows(rows.data(), places, 2, 3);
  EXPECT_EQ(places[0], 1);
  EXPECT_EQ(places[1], 0);
}

TEST(Reduce, DotAndMagnitude) {
  for (const int64_t n : {0, 1, 3, 17, 1000, 5000}) {
    const Floats a = random_values(n, 0, 1), b = random_values(n, 0, 1, 2);
    double expected = 0, squares = 0, largest = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      expected += double{a[i]} * b[i];
      squares += double{a[i]} * a[i];
      largest = std::max<double>(largest, a[i]);
    }
    expect_close(dot(a.data(), b.data(), n), expected, 1e-6);
    const Magnitude m = magnitude(a.data(), n);
    EXPECT_NEAR(m.sum_squares, squares, 1e-6 * squares);
    EXPECT_EQ(m.largest, static_cast<float>(largest));
    EXPECT_TRUE(m.finite);
  }
  Floats x = random_values(100);
  x[99] = kTestInfinity;
  EXPECT_FALSE(magnitude(x.data(), 100).finite);
  EXPECT_EQ(magnitude(x.data(), 100).largest, kTestInfinity);
  x[50] = -kTestNaN;
  EXPECT_FALSE(magnitude(x.data(), 100).finite);
  EXPECT_TRUE(std::isnan(magnitude(x.data(), 100).largest));
}

}  // namespace
}  // namespace snug::kernels
