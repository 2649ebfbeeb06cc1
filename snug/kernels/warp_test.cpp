#include "snug/kernels/warp.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace snug::kernels {
namespace {

// A row of four pixels, moved by `shift`.
std::vector<float> moved(float shift, WarpFill fill, bool bilinear = true) {
  const std::vector<float> x = {1, 2, 3, 4};
  std::vector<float> y(4, -1);
  const Warp warp{1, 4, 1, 1, 4, fill, 9, bilinear};
  warp_image(warp, {1, 0, shift, 0, 1, 0}, x.data(), y.data());
  return y;
}

TEST(Warp, BordersAreFilledAsAsked) {
  EXPECT_EQ(moved(0, WarpFill::reflect), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(moved(2, WarpFill::reflect), (std::vector<float>{3, 4, 4, 3}));
  EXPECT_EQ(moved(-2, WarpFill::reflect), (std::vector<float>{2, 1, 1, 2}));
  EXPECT_EQ(moved(7, WarpFill::reflect), (std::vector<float>{1, 1, 2, 3}));
  EXPECT_EQ(moved(2, WarpFill::nearest), (std::vector<float>{3, 4, 4, 4}));
  EXPECT_EQ(moved(-2, WarpFill::constant), (std::vector<float>{9, 9, 1, 2}));
  EXPECT_EQ(moved(1, WarpFill::wrap), (std::vector<float>{2, 3, 4, 1}));
  EXPECT_EQ(moved(-1, WarpFill::wrap), (std::vector<float>{4, 1, 2, 3}));
}

TEST(Warp, BetweenPixels) {
  EXPECT_EQ(moved(0.5f, WarpFill::nearest), (std::vector<float>{1.5, 2.5, 3.5, 4}));
  EXPECT_EQ(moved(0.5f, WarpFill::constant), (std::vector<float>{1.5, 2.5, 3.5, 6.5}));
  EXPECT_EQ(moved(0.25f, WarpFill::nearest, false), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(moved(0.75f, WarpFill::nearest, false), (std::vector<float>{2, 3, 4, 4}));
}

TEST(Warp, TurnsAndCuts) {
  std::vector<float> x(2 * 3 * 2), y(12), window(2);
  std::iota(x.begin(), x.end(), 0.0f);
  const Warp flip{2, 3, 2, 2, 3, WarpFill::nearest, 0, false};
  warp_image(flip, {-1, 0, 2, 0, 1, 0}, x.data(), y.data());
  EXPECT_EQ(y, (std::vector<float>{4, 5, 2, 3, 0, 1, 10, 11, 8, 9, 6, 7}));
  const Warp cut{2, 3, 2, 1, 1, WarpFill::nearest, 0, false};
  warp_image(cut, {1, 0, 1, 0, 1, 1}, x.data(), window.data());
  EXPECT_EQ(window, (std::vector<float>{8, 9}));
}

// Of any width and number of channels, and of a window within the image.
TEST(Warp, FlipsPixelByPixel) {
  for (const int64_t channels : {1, 2, 3, 4}) {
    for (int64_t width = 1; width <= 7; ++width) {
      for (int64_t out = 1; out <= width; ++out) {
        std::vector<float> x(static_cast<size_t>(2 * width * channels));
        std::vector<float> y(static_cast<size_t>(2 * out * channels));
        std::iota(x.begin(), x.end(), 0.0f);
        const Warp warp{2, width, channels, 2, out, WarpFill::nearest, 0, false};
        warp_image(warp, {-1, 0, static_cast<float>(out - 1), 0, 1, 0}, x.data(), y.data());
        for (int64_t i = 0; i < std::ssize(y); ++i) {
          const int64_t row = i / (out * channels), column = i / channels % out;
          const int64_t from = (row * width + out - 1 - column) * channels + i % channels;
          ASSERT_EQ(y[static_cast<size_t>(i)], x[static_cast<size_t>(from)]) << width << " " << out;
        }
      }
    }
  }
}

// The gradient is the transpose: <warp(x), g> = <x, gradient(g)> where nothing is filled in.
TEST(Warp, TheGradientIsTheTranspose) {
  for (const WarpFill fill :
       {WarpFill::reflect, WarpFill::wrap, WarpFill::constant, WarpFill::nearest}) {
    for (const bool bilinear : {true, false}) {
      const Warp warp{5, 4, 3, 6, 3, fill, 0, bilinear};
      const Affine map = {0.8f, -0.5f, 0.3f, 0.6f, 0.9f, -1.2f};
      std::vector<float> x(60), g(54), y(54), dx(60);
      for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>((7 * i) % 11) - 5;
      for (size_t i = 0; i < g.size(); ++i) g[i] = static_cast<float>((5 * i) % 13) - 6;
      warp_image(warp, map, x.data(), y.data());
      warp_image_gradient(warp, map, g.data(), dx.data());
      const float forward = std::inner_product(y.begin(), y.end(), g.begin(), 0.0f);
      const float backward = std::inner_product(x.begin(), x.end(), dx.begin(), 0.0f);
      EXPECT_NEAR(forward, backward, 1e-3f);
    }
  }
}

}  // namespace
}  // namespace snug::kernels
