#include "snug/kernels/pool.h"

#include <cmath>

#include "snug/kernels/test_values.h"

namespace snug::kernels {
namespace {

const Pool kPools[] = {
    // height, width, channels, kernel, stride, padding, output
    {4, 6, 8, 2, 2, 2, 2, 0, 0, 2, 3},  {5, 5, 3, 2, 2, 2, 2, 0, 0, 2, 2},
    {5, 5, 17, 2, 2, 2, 2, 0, 0, 3, 3}, {7, 6, 10, 3, 3, 2, 2, 1, 1, 4, 3},
    {6, 6, 16, 3, 2, 1, 3, 0, 0, 4, 2}, {4, 4, 1, 4, 4, 1, 1, 2, 1, 5, 3},
};
constexpr int64_t kImages = 3;

// Calls f(index into x, index into y, place) for every pixel of every window.
template <class F>
void for_each(const Pool& p, const F& f) {
  for (int64_t n = 0; n < kImages; ++n) {
    for (int64_t i = 0; i < p.out_height; ++i) {
      for (int64_t j = 0; j < p.out_width; ++j) {
        for (int64_t c = 0; c < p.channels; ++c) {
          for (int64_t place = 0; place < p.kernel_height * p.kernel_width; ++place) {
            const int64_t h = i * p.stride_height - p.pad_top + place / p.kernel_width;
            const int64_t w = j * p.stride_width - p.pad_left + place % p.kernel_width;
            if (h < 0 || w < 0 || h >= p.height || w >= p.width) continue;
            f(static_cast<size_t>(((n * p.height + h) * p.width + w) * p.channels + c),
              static_cast<size_t>(((n * p.out_height + i) * p.out_width + j) * p.channels + c),
              static_cast<uint8_t>(place));
          }
        }
      }
    }
  }
}

class PoolCase : public testing::TestWithParam<Pool> {
 protected:
  const Pool pool = GetParam();
  const int64_t in_size = kImages * pool.height * pool.width * pool.channels;
  const int64_t out_size = kImages * pool.out_height * pool.out_width * pool.channels;
};

TEST_P(PoolCase, MaxAndItsGradients) {
  for (const float special : {0.0f, kTestNaN, -kTestInfinity}) {
    Floats x = random_values(in_size);
    for (float& v : x) v = std::round(v * 2);  // Ties.
    for (size_t i = 0; i < x.size(); i += 5) x[i] = special;
    const Floats dy = random_values(out_size, -1, 1, 2);
    Floats y(dy.size()), dx(x.size(), 9), again(x.size(), 9);
    std::vector<uint8_t> argument(dy.size());
    max_pool(pool, x.data(), y.data(), argument.data(), kImages);
    max_pool_gradient(pool, argument.data(), dy.data(), dx.data(), kImages);
    max_pool_gradient_from_input(pool, x.data(), dy.data(), again.data(), kImages);

    Floats expected(dy.size()), expected_dx(x.size());
    std::vector<int> place(dy.size(), -1);
    for_each(pool, [&](size_t in, size_t out, uint8_t at) {
      const bool first = place[out] < 0;
      if (first || x[in] > expected[out] || (std::isnan(x[in]) && !std::isnan(expected[out]))) {
        expected[out] = x[in];
        place[out] = at;
      }
    });
    for_each(pool, [&](size_t in, size_t out, uint8_t at) {
      if (place[out] == at) expected_dx[in] += dy[out];
    });
    for (size_t i = 0; i < y.size(); ++i) {
      expect_close(y[i], expected[i], 0, 0);
      ASSERT_EQ(argument[i], place[i]);
    }
    EXPECT_EQ(dx, expected_dx);
    EXPECT_EQ(again, expected_dx);
    Floats plain(y.size());
    max_pool(pool, x.data(), plain.data(), nullptr, kImages);
    for (size_t i = 0; i < y.size(); ++i) expect_close(plain[i], expected[i], 0, 0);
  }
}

TEST_P(PoolCase, AverageAndItsGradient) {
  const Floats x = random_values(in_size), dy = random_values(out_size, -1, 1, 2);
  Floats y(dy.size()), dx(x.size(), 9);
  average_pool(pool, x.data(), y.data(), kImages);
  average_pool_gradient(pool, dy.data(), dx.data(), kImages);
  std::vector<double> sums(y.size()), counts(y.size()), expected_dx(x.size());
  for_each(pool, [&](size_t in, size_t out, uint8_t) { sums[out] += x[in], counts[out] += 1; });
  for_each(pool, [&](size_t in, size_t out, uint8_t) { expected_dx[in] += dy[out] / counts[out]; });
  for (size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(y[i], sums[i] / counts[i], 1e-6);
  for (size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(dx[i], expected_dx[i], 2e-6);
}

INSTANTIATE_TEST_SUITE_P(Shapes, PoolCase, testing::ValuesIn(kPools));

}  // namespace
}  // namespace snug::kernels
