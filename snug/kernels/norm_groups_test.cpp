#include <cmath>

#include "snug/kernels/norm.h"
#include "snug/kernels/test_values.h"

namespace snug::kernels {
namespace {

struct Case {
  int64_t rows, spatial, channels, groups;
};

const Case kCases[] = {{1, 1, 4, 2}, {2, 5, 6, 3},   {3, 9, 32, 4},   {2, 4, 33, 1},
                       {2, 3, 8, 8}, {2, 7, 192, 2}, {1, 2, 2304, 36}};

class GroupNormCase : public testing::TestWithParam<Case> {
 protected:
  GroupNormCase() {
    const Case c = GetParam();
    const int64_t n = c.rows * c.spatial * c.channels;
    x = random_values(n, -1, 4);
    dy = random_values(n, -1, 1, 2);
    gamma = random_values(c.channels, 0.5f, 2, 3);
    beta = random_values(c.channels, -1, 1, 4);
    norm = {c.rows, c.spatial, c.channels, c.groups, gamma.data(), beta.data(), 1e-3f};
    y.resize(x.size());
    dx.resize(x.size());
    mean.resize(static_cast<size_t>(c.rows * c.groups));
    rstd = mean;
  }

  size_t group_of(size_t i) const {
    const size_t channels = static_cast<size_t>(norm.channels);
    const size_t groups = static_cast<size_t>(norm.groups);
    const size_t row = i / (static_cast<size_t>(norm.spatial) * channels);
    return row * groups + i % channels / (channels / groups);
  }
  size_t channel_of(size_t i) const { return i % static_cast<size_t>(norm.channels); }

  // For each group, the mean of term(i) over its elements, in double.
  template <class Term>
  std::vector<double> group_means(const Term& term) const {
    std::vector<double> means(mean.size());
    const double count = double(norm.spatial * norm.channels / norm.groups);
    for (size_t i = 0; i < x.size(); ++i) means[group_of(i)] += term(i) / count;
    return means;
  }

  Floats x, dy, gamma, beta, y, dx, mean, rstd;
  GroupNorm norm;
};

TEST_P(GroupNormCase, ForwardAndGradients) {
  group_norm(norm, x.data(), y.data(), mean.data(), rstd.data());
  group_norm_gradient(norm, x.data(), dy.data(), mean.data(), rstd.data(), dx.data());
  const size_t channels = static_cast<size_t>(norm.channels);
  Floats dgamma(channels, 1), dbeta(channels, 1);
  group_norm_parameter_gradients(norm, x.data(), dy.data(), mean.data(), rstd.data(), dgamma.data(),
                                 dbeta.data(), Output::write);

  const auto means = group_means([&](size_t i) { return double{x[i]}; });
  const auto variances =
      group_means([&](size_t i) { return std::pow(x[i] - means[group_of(i)], 2); });
  const auto xhat = [&](size_t i) {
    return (x[i] - means[group_of(i)]) / std::sqrt(variances[group_of(i)] + 1e-3);
  };
  const auto g = [&](size_t i) { return double{dy[i]} * gamma[channel_of(i)]; };
  const auto mean_g = group_means(g);
  const auto mean_product = group_means([&](size_t i) { return g(i) * xhat(i); });
  std::vector<double> expected_dgamma(channels), expected_dbeta(channels);
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t k = group_of(i), c = channel_of(i);
    ASSERT_NEAR(y[i], xhat(i) * gamma[c] + beta[c], 1e-5);
    const double inverse = 1 / std::sqrt(variances[k] + 1e-3);
    ASSERT_NEAR(dx[i], inverse * (g(i) - mean_g[k] - xhat(i) * mean_product[k]),
                2e-5 * (1 + inverse));
    expected_dgamma[c] += dy[i] * xhat(i);
    expected_dbeta[c] += dy[i];
  }
  for (size_t c = 0; c < channels; ++c) {
    EXPECT_NEAR(dgamma[c], expected_dgamma[c], 1e-4);
    EXPECT_NEAR(dbeta[c], expected_dbeta[c], 1e-5);
  }
}

// Sums of many numbers of one sign: a single row of float32 sums would lose their digits.
TEST(GroupNorm, LargeGroupsFarFromZero) {
  constexpr int64_t kSpatial = 200 * 200, kChannels = 64, kSize = kSpatial * kChannels;
  const Floats x = random_values(kSize, 99, 101), dy = random_values(kSize, 2, 3, 2);
  Floats y(x.size()), dx(x.size());
  float mean = 0, rstd = 0;
  const GroupNorm norm{.rows = 1, .spatial = kSpatial, .channels = kChannels, .groups = 1};
  group_norm(norm, x.data(), y.data(), &mean, &rstd);
  group_norm_gradient(norm, x.data(), dy.data(), &mean, &rstd, dx.data());
  double sum = 0, squares = 0, sum_y = 0, sum_dx = 0;
  for (const float value : x) sum += value;
  for (const float value : x) squares += std::pow(value - sum / kSize, 2);
  for (const float value : y) sum_y += value;
  for (const float value : dx) sum_dx += value;
  EXPECT_NEAR(mean, sum / kSize, 1e-5);
  EXPECT_NEAR(rstd, 1 / std::sqrt(squares / kSize + 1e-3), 1e-5);
  EXPECT_NEAR(sum_y / kSize, 0, 1e-5);
  EXPECT_NEAR(sum_dx / kSize, 0, 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Shapes, GroupNormCase, testing::ValuesIn(kCases));

}  // namespace
}  // namespace snug::kernels
