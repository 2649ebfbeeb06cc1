// Convolutions in tests: problems, and every product that one is the sum of.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "snug/kernels/im2col.h"

namespace snug::convolution_testing {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;
using Shape = ConvolutionShape;

constexpr size_t kGuard = 64;
constexpr unsigned char kCanary = 0xa5;

inline Floats random_floats(size_t size, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  Floats values(size);
  for (float& value : values) value = uniform(engine);
  return values;
}

// Calls run(scratch) with exactly the stated bytes, filled with NaN, and looks behind them.
template <typename Run>
void with_scratch(size_t bytes, const Run& run) {
  const size_t size = (bytes + kGuard + 63) / 64 * 64;
  const std::unique_ptr<unsigned char, decltype(&std::free)> block(
      static_cast<unsigned char*>(std::aligned_alloc(64, size)), &std::free);
  std::memset(block.get(), 0xff, bytes);
  std::memset(block.get() + bytes, kCanary, kGuard);
  run(block.get());
  for (size_t i = 0; i < kGuard; ++i) ASSERT_EQ(block.get()[bytes + i], kCanary);
}

inline size_t x_size(const Shape& s) { return s.batch * s.height * s.width * s.channels; }
inline size_t y_size(const Shape& s) {
  return s.batch * s.out_height() * s.out_width() * s.filters;
}
inline size_t w_size(const Shape& s) { return s.taps() * s.channels / s.groups * s.filters; }

// Calls term(x index, w index, y index) for every product in the convolution.
template <typename Term>
void each_term(const Shape& s, const Term& term) {
  const int64_t channels = s.channels / s.groups, filters = s.filters / s.groups;
  for (int64_t pixel = 0; pixel < s.batch * s.out_height() * s.out_width(); ++pixel) {
    const int64_t j = pixel % s.out_width(), i = pixel / s.out_width() % s.out_height();
    const int64_t image = pixel / s.out_width() / s.out_height();
    for (int64_t tap = 0; tap < s.taps(); ++tap) {
      const int64_t r = i * s.stride_height + tap / s.kernel_width * s.dilation_height - s.top;
      const int64_t c = j * s.stride_width + tap % s.kernel_width * s.dilation_width - s.left;
      if (r < 0 || r >= s.height || c < 0 || c >= s.width) continue;
      const int64_t x = ((image * s.height + r) * s.width + c) * s.channels;
      for (int64_t f = 0; f < s.filters; ++f) {
        for (int64_t k = 0; k < channels; ++k) {
          term(x + f / filters * channels + k, (tap * channels + k) * s.filters + f,
               pixel * s.filters + f);
        }
      }
    }
  }
}

struct Problem {
  explicit Problem(const Shape& s)
      : x(random_floats(x_size(s), 1)),
        w(random_floats(w_size(s), 2)),
        y(random_floats(y_size(s), 3)),
        bias(random_floats(s.filters, 4)) {}
  Floats x, w, y, bias;
};

inline void expect_near(const Floats& actual, const Doubles& expected, const Doubles& magnitude,
                        const char* what) {
  for (size_t i = 0; i < actual.size(); ++i) {
    ASSERT_NEAR(actual[i], expected[i], 3e-6 * (1 + magnitude[i])) << what << " at " << i;
  }
}

inline bool same_bits(const Floats& x, const Floats& y) {
  return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0;
}

inline bool has_output(const Shape& s) {
  return s.height + s.top + s.bottom > (s.kernel_height - 1) * s.dilation_height &&
         s.width + s.left + s.right > (s.kernel_width - 1) * s.dilation_width;
}

inline Shape same3x3(int64_t batch, int64_t size, int64_t channels, int64_t filters) {
  return {.batch = batch,
          .height = size,
          .width = size,
          .channels = channels,
          .filters = filters,
          .kernel_height = 3,
          .kernel_width = 3,
          .top = 1,
          .left = 1,
          .bottom = 1,
          .right = 1};
}

// One NaN in x shows in y and dw where it is a factor, although all weights are zero. `results`
// gives both for a problem.
template <typename ResultsOf>
void check_nan(const Shape& shape, const ResultsOf& results) {
  Problem problem(shape);
  std::fill(problem.w.begin(), problem.w.end(), 0.0f);
  const size_t bad = (5 * shape.width + 5) * shape.channels;  // channel 0 of a pixel inside
  problem.x[bad] = NAN;
  const auto r = results(problem);
  std::vector<bool> touched(r.y.size()), touched_weights(r.dw.size());
  each_term(shape, [&](size_t x, size_t w, size_t y) {
    if (x == bad) touched[y] = touched_weights[w] = true;
  });
  for (size_t i = 0; i < r.y.size(); ++i) ASSERT_EQ(std::isnan(r.y[i]), touched[i]);
  for (size_t i = 0; i < r.dw.size(); ++i) ASSERT_EQ(std::isnan(r.dw[i]), touched_weights[i]);
}

// Threads do not show in results, nor the batch in those of an image. `results(shape, problem,
// threads)` has y, dw and dw_added, and dx where there is one.
template <typename ResultsOf>
void check_bits(Shape shape, const ResultsOf& results) {
  const Problem problem(shape);
  const auto alone = results(shape, problem, 1);
  constexpr bool kHasImage = requires { alone.dx; };
  for (const int threads : {2, 3, 4, 5, 9}) {
    const auto r = results(shape, problem, threads);
    EXPECT_TRUE(same_bits(alone.y, r.y));
    EXPECT_TRUE(same_bits(alone.dw, r.dw));
    EXPECT_TRUE(same_bits(alone.dw_added, r.dw_added));
    if constexpr (kHasImage) {
      EXPECT_TRUE(same_bits(alone.dx, r.dx));
    }
  }
  const auto same_start = [](const auto& whole, const auto& one) {
    return std::memcmp(whole.data(), one.data(), one.size() * sizeof(float)) == 0;
  };
  shape.batch = 1;
  const auto one = results(shape, problem, 1);
  EXPECT_TRUE(same_start(alone.y, one.y));
  if constexpr (kHasImage) {
    EXPECT_TRUE(same_start(alone.dx, one.dx));
  }
}

}  // namespace snug::convolution_testing
