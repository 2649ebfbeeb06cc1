#include "snug/kernels/softmax.h"

#include <algorithm>
#include <cmath>

#include "snug/kernels/test_values.h"

namespace snug::kernels {
namespace {

const int64_t kColumns[] = {1, 2, 3, 8, 10, 16, 17, 25, 32, 33, 100, 256, 1000};
constexpr int64_t kRows = 5;

struct Row {
  std::vector<double> p, log_p;
};

Row reference(const float* x, int64_t n) {
  const double most = *std::max_element(x, x + n);
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += std::exp(x[i] - most);
  Row row;
  for (int64_t i = 0; i < n; ++i) {
    row.log_p.push_back(x[i] - most - std::log(sum));
    row.p.push_back(std::exp(row.log_p.back()));
  }
  return row;
}

size_t at(int64_t row, int64_t column, int64_t columns) {
  return static_cast<size_t>(row * columns + column);
}

TEST(Softmax, ForwardAndGradients) {
  for (const int64_t n : kColumns) {
    SCOPED_TRACE(testing::Message() << n << " columns");
    const Floats x = random_values(kRows * n, -30, 30), dy = random_values(kRows * n, -1, 1, 2);
    Floats y(x.size()), log_y(x.size()), dx(x.size()), log_dx(x.size());
    softmax(x.data(), y.data(), kRows, n);
    log_softmax(x.data(), log_y.data(), kRows, n);
    softmax_gradient(y.data(), dy.data(), dx.data(), kRows, n);
    log_softmax_gradient(log_y.data(), dy.data(), log_dx.data(), kRows, n);
    for (int64_t r = 0; r < kRows; ++r) {
      const Row row = reference(x.data() + r * n, n);
      double dot = 0, sum = 0;
      for (int64_t c = 0; c < n; ++c) {
        dot += row.p[static_cast<size_t>(c)] * dy[at(r, c, n)];
        sum += dy[at(r, c, n)];
      }
      for (int64_t c = 0; c < n; ++c) {
        const double p = row.p[static_cast<size_t>(c)], g = dy[at(r, c, n)];
        expect_close(y[at(r, c, n)], p, 3e-6);
        expect_close(log_y[at(r, c, n)], row.log_p[static_cast<size_t>(c)], 1e-6, 5e-6);
        expect_close(dx[at(r, c, n)], p * (g - dot), 1e-5, 1e-6);
        expect_close(log_dx[at(r, c, n)], g - p * sum, 1e-5, 1e-5);
      }
    }
    Floats over = x;
    softmax(over.data(), over.data(), kRows, n);
    EXPECT_EQ(over, y);
    over = dy;
    softmax_gradient(y.data(), over.data(), over.data(), kRows, n);
    EXPECT_EQ(over, dx);
  }
}

TEST(Softmax, CrossEntropies) {
  for (const int64_t n : kColumns) {
    SCOPED_TRACE(testing::Message() << n << " columns");
    const Floats x = random_values(kRows * n, -20, 20);
    const Floats scale = random_values(kRows, 0.1f, 2, 4);
    std::vector<int32_t> labels;
    for (int64_t r = 0; r < kRows; ++r) labels.push_back(static_cast<int32_t>((r * 7) % n));
    Floats targets = random_values(kRows * n, 0, 1, 3);
    Floats loss(kRows), dense_loss(kRows), dx(x.size()), dense_dx(x.size());
    softmax_cross_entropy(x.data(), labels.data(), loss.data(), kRows, n);
    softmax_cross_entropy_gradient(x.data(), labels.data(), scale.data(), dx.data(), kRows, n);
    dense_softmax_cross_entropy(x.data(), targets.data(), dense_loss.data(), kRows, n);
    dense_softmax_cross_entropy_gradient(x.data(), targets.data(), scale.data(), dense_dx.data(),
                                         kRows, n);
    for (int64_t r = 0; r < kRows; ++r) {
      const Row row = reference(x.data() + r * n, n);
      const size_t i = static_cast<size_t>(r);
      double dense = 0;
      for (int64_t c = 0; c < n; ++c) {
        const double t = targets[at(r, c, n)], p = row.p[static_cast<size_t>(c)];
        dense -= t * row.log_p[static_cast<size_t>(c)];
        expect_close(dx[at(r, c, n)], (p - (labels[i] == c)) * scale[i], 3e-6, 5e-7);
        expect_close(dense_dx[at(r, c, n)], (p - t) * scale[i], 3e-6, 5e-7);
      }
      expect_close(loss[i], -row.log_p[static_cast<size_t>(labels[i])], 1e-6, 5e-6);
      expect_close(dense_loss[i], dense, 2e-6, 5e-6);
    }
    Floats over = x;
    softmax_cross_entropy_gradient(over.data(), labels.data(), scale.data(), over.data(), kRows, n);
    EXPECT_EQ(over, dx);
    dense_softmax_cross_entropy_gradient(x.data(), targets.data(), scale.data(), targets.data(),
                                         kRows, n);
    EXPECT_EQ(targets, dense_dx);
  }
}

TEST(Softmax, NaNAndInfinities) {
  for (const int64_t n : kColumns) {
    for (const float bad : {kTestNaN, kTestInfinity}) {
      for (const int64_t place : {int64_t{0}, n / 2, n - 1}) {
        Floats x = random_values(n), y(x.size());
        x[static_cast<size_t>(place)] = bad;
        softmax(x.data(), y.data(), 1, n);
        for (const float v : y) EXPECT_TRUE(std::isnan(v)) << n;
        log_softmax(x.data(), y.data(), 1, n);
        for (const float v : y) EXPECT_TRUE(std::isnan(v)) << n;
        const int32_t label = static_cast<int32_t>(place);
        softmax_cross_entropy(x.data(), &label, y.data(), 1, n);
        EXPECT_TRUE(std::isnan(y[0]));
      }
    }
  }
  const Floats x = {-kTestInfinity, 0, 1000, -1000, -3.4e38f};
  Floats y(5);
  softmax(x.data(), y.data(), 1, 5);
  EXPECT_EQ(y, (Floats{0, 0, 1, 0, 0}));
}

TEST(Softmax, ALabelOutsideIsNaN) {
  const Floats x = {1, 2, 3, 4, 5, 6};
  const int32_t labels[] = {3, -1};
  const float scale[] = {1, 1};
  Floats loss(2), dx(6);
  softmax_cross_entropy(x.data(), labels, loss.data(), 2, 3);
  softmax_cross_entropy_gradient(x.data(), labels, scale, dx.data(), 2, 3);
  for (const float v : loss) EXPECT_TRUE(std::isnan(v));
  for (const float v : dx) EXPECT_TRUE(std::isnan(v));
}

TEST(Softmax, SigmoidCrossEntropy) {
  for (const int64_t n : kTestLengths) {
    const Floats x = random_values(n, -50, 50), t = random_values(n, 0, 1, 2);
    const Floats dy = random_values(n, -2, 2, 3);
    Floats loss(x.size()), dx(x.size());
    sigmoid_cross_entropy(x.data(), t.data(), loss.data(), n);
    sigmoid_cross_entropy_gradient(x.data(), t.data(), dy.data(), dx.data(), n);
    for (size_t i = 0; i < x.size(); ++i) {
      const double v = x[i];
      expect_close(loss[i], std::max(v, 0.0) - v * t[i] + std::log1p(std::exp(-std::abs(v))), 1e-6,
                   3e-6);
      expect_close(dx[i], (1 / (1 + std::exp(-v)) - t[i]) * dy[i], 1e-6, 5e-7);
    }
  }
  const Floats x = {kTestNaN}, t = {1};
  Floats loss(1);
  sigmoid_cross_entropy(x.data(), t.data(), loss.data(), 1);
  EXPECT_TRUE(std::isnan(loss[0]));
}

}  // namespace
}  // namespace snug::kernels
