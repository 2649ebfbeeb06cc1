#include "snug/kernels/resize.h"

#include <algorithm>
#include <cmath>

#include "snug/kernels/test_values.h"

namespace snug::kernels {
namespace {

const Resize kCases[] = {{2, 3, 4, 4, 6}, {3, 3, 9, 7, 5}, {5, 4, 1, 2, 2}, {1, 1, 3, 4, 4}};
constexpr int64_t kImages = 2;

// The weight of input pixel `in` in output pixel `out` along one axis.
double weight(int64_t in, int64_t out, int64_t size, int64_t out_size, bool bilinear) {
  const double at = (double(out) + 0.5) * double(size) / double(out_size);
  if (!bilinear) return in == std::min<int64_t>(size - 1, int64_t(std::floor(at))) ? 1 : 0;
  const double held = std::clamp(at - 0.5, 0.0, double(size - 1));
  return std::max(0.0, 1 - std::abs(held - double(in)));
}

class ResizeCase : public testing::TestWithParam<Resize> {
 protected:
  // Calls f(x index, y index, weight) for all pairs of pixels of one image that share a channel.
  template <class F>
  void for_pairs(bool bilinear, const F& f) const {
    for (int64_t n = 0; n < kImages; ++n) {
      for (int64_t a = 0; a < s.height * s.width; ++a) {
        for (int64_t b = 0; b < s.out_height * s.out_width; ++b) {
          const double w = weight(a / s.width, b / s.out_width, s.height, s.out_height, bilinear) *
                           weight(a % s.width, b % s.out_width, s.width, s.out_width, bilinear);
          for (int64_t c = 0; c < s.channels; ++c) {
            f(static_cast<size_t>((n * s.height * s.width + a) * s.channels + c),
              static_cast<size_t>((n * s.out_height * s.out_width + b) * s.channels + c), w);
          }
        }
      }
    }
  }
  const Resize s = GetParam();
};

TEST_P(ResizeCase, ForwardAndGradient) {
  const Floats x = random_values(kImages * s.height * s.width * s.channels);
  const Floats dy = random_values(kImages * s.out_height * s.out_width * s.channels, -1, 1, 2);
  for (const bool bilinear : {false, true}) {
    Floats y(dy.size()), dx(x.size(), 9);
    (bilinear ? resize_bilinear : resize_nearest)(s, x.data(), y.data(), kImages);
    (bilinear ? resize_bilinear_gradient : resize_nearest_gradient)(s, dy.data(), dx.data(),
                                                                    kImages);
    std::vector<double> expected(y.size()), expected_dx(x.size());
    for_pairs(bilinear, [&](size_t in, size_t out, double w) {
      expected[out] += w * x[in];
      expected_dx[in] += w * dy[out];
    });
    for (size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(y[i], expected[i], 2e-6);
    for (size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(dx[i], expected_dx[i], 5e-6);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, ResizeCase, testing::ValuesIn(kCases));

}  // namespace
}  // namespace snug::kernels
