#include <cmath>

#include "snug/kernels/norm.h"
#include "snug/kernels/test_values.h"

namespace snug::kernels {
namespace {

const int64_t kColumns[] = {1, 2, 7, 8, 16, 33, 100, 256};
constexpr int64_t kRows = 6;

struct Reference {
  std::vector<double> y, dx;
  double mean = 0, rstd = 0;
};

// One row in double; `rms` leaves the mean out. Null gamma is 1.
Reference reference(const float* x, const float* dy, const float* gamma, const float* beta,
                    int64_t n, double epsilon, bool rms) {
  Reference row;
  double variance = 0, mean_g = 0, mean_product = 0;
  for (int64_t i = 0; i < n && !rms; ++i) row.mean += x[i] / double(n);
  for (int64_t i = 0; i < n; ++i) variance += (x[i] - row.mean) * (x[i] - row.mean) / double(n);
  row.rstd = 1 / std::sqrt(variance + epsilon);
  for (int64_t i = 0; i < n; ++i) {
    const double xhat = (x[i] - row.mean) * row.rstd, g = dy[i] * (gamma ? gamma[i] : 1.0);
    row.y.push_back(xhat * (gamma ? gamma[i] : 1.0) + (beta && !rms ? beta[i] : 0.0));
    mean_g += rms ? 0 : g / double(n);
    mean_product += g * xhat / double(n);
  }
  for (int64_t i = 0; i < n; ++i) {
    const double xhat = (x[i] - row.mean) * row.rstd, g = dy[i] * (gamma ? gamma[i] : 1.0);
    row.dx.push_back(row.rstd * (g - mean_g - xhat * mean_product));
  }
  return row;
}

void check(int64_t n, bool with_gamma, bool rms) {
  SCOPED_TRACE(testing::Message() << n << " columns, gamma " << with_gamma << ", rms " << rms);
  const Floats x = random_values(kRows * n, 1, 5), dy = random_values(kRows * n, -1, 1, 2);
  const Floats gamma = random_values(n, 0.5f, 2, 3), beta = random_values(n, -1, 1, 4);
  const LayerNorm norm{.rows = kRows,
                       .columns = n,
                       .gamma = with_gamma ? gamma.data() : nullptr,
                       .beta = with_gamma ? beta.data() : nullptr,
                       .epsilon = 1e-3f};
  Floats y(x.size()), dx(x.size()), mean(kRows), rstd(kRows);
  if (rms) {
    rms_norm(norm, x.data(), y.data(), rstd.data());
    rms_norm_gradient(norm, x.data(), dy.data(), rstd.data(), dx.data());
  } else {
    layer_norm(norm, x.data(), y.data(), mean.data(), rstd.data());
    layer_norm_gradient(norm, x.data(), dy.data(), mean.data(), rstd.data(), dx.data());
  }
  for (int64_t r = 0; r < kRows; ++r) {
    const Reference row =
        reference(x.data() + r * n, dy.data() + r * n, norm.gamma, norm.beta, n, norm.epsilon, rms);
    EXPECT_NEAR(rstd[static_cast<size_t>(r)], row.rstd, 1e-5 * row.rstd);
    for (int64_t i = 0; i < n; ++i) {
      const size_t k = static_cast<size_t>(r * n + i);
      ASSERT_NEAR(y[k], row.y[static_cast<size_t>(i)], 1e-5);
      ASSERT_NEAR(dx[k], row.dx[static_cast<size_t>(i)], 2e-5 * (1 + row.rstd));
    }
  }
  Floats over = x;
  if (rms) {
    rms_norm(norm, over.data(), over.data(), rstd.data());
  } else {
    layer_norm(norm, over.data(), over.data(), mean.data(), rstd.data());
  }
  EXPECT_EQ(over, y);
}

TEST(LayerNorm, ForwardAndGradient) {
  for (const int64_t n : kColumns) {
    for (const bool with_gamma : {false, true}) {
      check(n, with_gamma, /*rms=*/false);
      check(n, with_gamma, /*rms=*/true);
    }
  }
}

TEST(LayerNorm, ParameterGradients) {
  for (const int64_t n : kColumns) {
    const int64_t rows = 300;
    const Floats x = random_values(rows * n), dy = random_values(rows * n, -1, 1, 2);
    const Floats mean = random_values(rows, -1, 1, 3), rstd = random_values(rows, 0.5f, 2, 4);
    const LayerNorm norm{.rows = rows, .columns = n};
    Floats dgamma(static_cast<size_t>(n), 1), dbeta(static_cast<size_t>(n), 2);
    Floats rms_gamma(static_cast<size_t>(n), 9);
    layer_norm_parameter_gradients(norm, x.data(), dy.data(), mean.data(), rstd.data(),
                                   dgamma.data(), dbeta.data(), Output::add);
    layer_norm_parameter_gradients(norm, x.data(), dy.data(), nullptr, rstd.data(),
                                   rms_gamma.data(), nullptr, Output::write);
    for (int64_t c = 0; c < n; ++c) {
      double gamma = 1, beta = 2, rms = 0;
      for (int64_t r = 0; r < rows; ++r) {
        const size_t k = static_cast<size_t>(r * n + c), i = static_cast<size_t>(r);
        gamma += double{dy[k]} * (double{x[k]} - mean[i]) * rstd[i];
        beta += dy[k];
        rms += double{dy[k]} * x[k] * rstd[i];
      }
      ASSERT_NEAR(dgamma[static_cast<size_t>(c)], gamma, 3e-4);
      ASSERT_NEAR(dbeta[static_cast<size_t>(c)], beta, 1e-4);
      ASSERT_NEAR(rms_gamma[static_cast<size_t>(c)], rms, 3e-4);
    }
  }
}

// Sums of many numbers of one sign: a single row of float32 sums would lose their digits.
TEST(LayerNorm, LongRowsFarFromZero) {
  constexpr int64_t kColumns = 2'500'000;
  const Floats x = random_values(kColumns, 99, 101), dy = random_values(kColumns, 2, 3, 2);
  Floats y(x.size()), dx(x.size());
  float mean = 0, rstd = 0;
  const LayerNorm norm{.rows = 1, .columns = kColumns};
  layer_norm(norm, x.data(), y.data(), &mean, &rstd);
  layer_norm_gradient(norm, x.data(), dy.data(), &mean, &rstd, dx.data());
  double sum = 0, sum_dx = 0;
  for (const float value : x) sum += value;
  for (const float value : dx) sum_dx += value;
  EXPECT_NEAR(mean, sum / kColumns, 1e-5);
  EXPECT_NEAR(sum_dx / kColumns, 0, 1e-6);
}

TEST(LayerNorm, NaNFillsItsRow) {
  Floats x = random_values(3 * 20), y(60), mean(3), rstd(3);
  x[25] = kTestNaN;
  layer_norm({.rows = 3, .columns = 20}, x.data(), y.data(), mean.data(), rstd.data());
  for (size_t i = 0; i < 60; ++i) EXPECT_EQ(std::isnan(y[i]), i / 20 == 1);
}

}  // namespace
}  // namespace snug::kernels
