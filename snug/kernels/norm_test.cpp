#include "snug/kernels/norm.h"

#include <cmath>

#include "snug/kernels/test_values.h"
#include "snug/kernels/unary.h"

namespace snug::kernels {
namespace {

using Doubles = std::vector<double>;

const int64_t kChannels[] = {1, 3, 8, 10, 16, 40, 64, 65, 200};
const int64_t kRowCounts[] = {1, 5, 33, 700};

size_t at(int64_t row, int64_t channel, int64_t channels) {
  return static_cast<size_t>(row * channels + channel);
}

TEST(BatchNorm, SumsOfMoments) {
  for (const int64_t channels : kChannels) {
    for (const int64_t rows : kRowCounts) {
      const Floats x = random_values(rows * channels, -1, 3),
                   origin = random_values(channels, 0, 1, 2);
      Doubles sums(static_cast<size_t>(channels), 5), squares(static_cast<size_t>(channels), 7);
      batch_norm_sums(x.data(), origin.data(), sums.data(), squares.data(), rows, channels,
                      Output::write);
      batch_norm_sums(x.data(), origin.data(), sums.data(), squares.data(), rows, channels,
                      Output::add);
      for (int64_t c = 0; c < channels; ++c) {
        double sum = 0, square = 0, magnitudes = 0;
        for (int64_t r = 0; r < rows; ++r) {
          const double v = double{x[at(r, c, channels)]} - origin[static_cast<size_t>(c)];
          sum += 2 * v, square += 2 * v * v, magnitudes += 2 * std::abs(v);
        }
        ASSERT_NEAR(sums[static_cast<size_t>(c)], sum, 1e-6 * magnitudes);
        ASSERT_NEAR(squares[static_cast<size_t>(c)], square, 1e-6 * square);
      }
    }
  }
}

void check_apply(int64_t rows, int64_t channels, bool adds, After after) {
  const Floats x = random_values(rows * channels, -4, 4), more = random_values(x.size(), -2, 2, 6);
  const Floats scale = random_values(channels, -2, 2, 2), shift = random_values(channels, -1, 1, 3);
  Floats y(x.size() + 1, 77.0f), over = x;
  const BatchNormTail tail{adds ? more.data() : nullptr, after};
  batch_norm_apply(x.data(), scale.data(), shift.data(), y.data(), rows, channels, tail);
  batch_norm_apply(over.data(), scale.data(), shift.data(), over.data(), rows, channels, tail);
  EXPECT_EQ(y.back(), 77.0f);
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t c = i % static_cast<size_t>(channels);
    double expected = double{x[i]} * scale[c] + shift[c] + (adds ? more[i] : 0);
    if (after != After::nothing) expected = std::max(expected, 0.0);
    if (after == After::relu6) expected = std::min(expected, 6.0);
    ASSERT_NEAR(y[i], expected, 2e-6);
    ASSERT_EQ(y[i], over[i]);
  }
}

TEST(BatchNorm, ApplyAndWhatFollows) {
  for (const int64_t channels : kChannels) {
    for (const int64_t rows : kRowCounts) {
      for (const After after : {After::nothing, After::relu, After::relu6}) {
        check_apply(rows, channels, false, after);
        check_apply(rows, channels, true, after);
      }
    }
  }
  const float one = 1;
  for (const After after : {After::relu, After::relu6}) {
    float y = 0;
    batch_norm_apply(&kTestNaN, &one, &one, &y, 1, 1, {.after = after});
    EXPECT_TRUE(std::isnan(y));
  }
}

TEST(BatchNorm, GradientSums) {
  for (const int64_t channels : kChannels) {
    for (const int64_t rows : kRowCounts) {
      const Floats x = random_values(rows * channels),
                   dy = random_values(rows * channels, -1, 1, 2);
      const Floats mean = random_values(channels, -1, 1, 3),
                   rstd = random_values(channels, 0.5f, 2, 4);
      Doubles sum_dy(static_cast<size_t>(channels), 3), sum_xhat(static_cast<size_t>(channels), 4);
      batch_norm_gradient_sums(x.data(), dy.data(), mean.data(), rstd.data(), sum_dy.data(),
                               sum_xhat.data(), rows, channels, Output::add);
      for (int64_t c = 0; c < channels; ++c) {
        const size_t i = static_cast<size_t>(c);
        double sum = 3, product = 4, size = 1;
        for (int64_t r = 0; r < rows; ++r) {
          const double g = dy[at(r, c, channels)];
          const double normal = (double{x[at(r, c, channels)]} - mean[i]) * rstd[i];
          sum += g, product += g * normal, size += std::abs(g) * (1 + std::abs(normal));
        }
        ASSERT_NEAR(sum_dy[i], sum, 1e-6 * size);
        ASSERT_NEAR(sum_xhat[i], product, 1e-6 * size);
      }
    }
  }
}

TEST(BatchNorm, GradientPass) {
  for (const int64_t channels : kChannels) {
    for (const int64_t rows : kRowCounts) {
      const Floats x = random_values(rows * channels),
                   dy = random_values(rows * channels, -1, 1, 2);
      const Floats a = random_values(channels, -1, 1, 3), b = random_values(channels, -1, 1, 4);
      const Floats e = random_values(channels, -1, 1, 5);
      Floats dx(x.size()), over = dy;
      batch_norm_gradient(x.data(), dy.data(), a.data(), b.data(), e.data(), dx.data(), rows,
                          channels);
      batch_norm_gradient(x.data(), over.data(), a.data(), b.data(), e.data(), over.data(), rows,
                          channels);
      EXPECT_EQ(over, dx);
      for (size_t i = 0; i < x.size(); ++i) {
        const size_t c = i % static_cast<size_t>(channels);
        ASSERT_NEAR(dx[i], double{a[c]} * dy[i] + double{b[c]} * x[i] + e[c], 1e-6);
      }
    }
  }
}

// dy as the function's own gradient gives it.
Floats sloped(const Floats& x, const Floats& dy, const BatchNormSlope& slope, int64_t channels) {
  Floats y(x.size()), sloped(x.size());
  const auto rows = static_cast<int64_t>(x.size()) / channels;
  batch_norm_apply(x.data(), slope.scale, slope.shift, y.data(), rows, channels,
                   {.after = slope.after});
  const Unary function = slope.after == After::relu ? Unary::relu : Unary::relu6;
  unary_gradient_function(function)(y.data(), dy.data(), sloped.data(),
                                    static_cast<int64_t>(x.size()), nullptr);
  return sloped;
}

struct GradientOf {
  Doubles sums;
  Floats dx;
};

GradientOf gradient_of(const Floats& x, const Floats& dy, const Floats& each, int64_t channels,
                       const BatchNormSlope& slope) {
  const auto rows = static_cast<int64_t>(x.size()) / channels;
  GradientOf found{Doubles(2 * static_cast<size_t>(channels)), dy};
  const float *a = each.data(), *b = a + channels, *c = b + channels;
  batch_norm_gradient_sums(x.data(), dy.data(), a, b, found.sums.data(),
                           found.sums.data() + channels, rows, channels, Output::write, slope);
  batch_norm_gradient(x.data(), found.dx.data(), a, b, c, found.dx.data(), rows, channels, slope);
  return found;
}

// NaN of any kind equals NaN.
template <class Numbers>
void expect_same(const Numbers& a, const Numbers& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_TRUE(a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) << i;
}

void check_slope(int64_t rows, int64_t channels, After after, bool with_nan) {
  Floats x = random_values(rows * channels, -4, 8);
  const Floats dy = random_values(rows * channels, -1, 1, 2);
  Floats each = random_values(5 * channels, 0.5f, 2, 3);
  if (with_nan) x[x.size() / 2] = kTestNaN, x[0] = kTestInfinity, each.back() = kTestNaN;
  const BatchNormSlope slope{after, each.data() + 3 * channels, each.data() + 4 * channels};
  const GradientOf joined = gradient_of(x, dy, each, channels, slope);
  const GradientOf apart = gradient_of(x, sloped(x, dy, slope, channels), each, channels, {});
  expect_same(joined.sums, apart.sums);
  expect_same(joined.dx, apart.dx);
}

TEST(BatchNorm, GradientOfWhatFollowsIsTheSameBits) {
  for (const After after : {After::relu, After::relu6}) {
    for (const int64_t channels : kChannels) {
      for (const int64_t rows : kRowCounts) check_slope(rows, channels, after, false);
    }
  }
}

TEST(BatchNorm, GradientOfWhatFollowsKeepsNaN) {
  for (const After after : {After::relu, After::relu6}) {
    for (const int64_t channels : kChannels) check_slope(33, channels, after, true);
  }
}

}  // namespace
}  // namespace snug::kernels
