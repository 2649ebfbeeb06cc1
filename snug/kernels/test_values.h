// Values for the tests of the loops: random ones, edges, and comparison with a double reference.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace snug::kernels {

using Floats = std::vector<float>;

inline constexpr float kTestNaN = std::numeric_limits<float>::quiet_NaN();
inline constexpr float kTestInfinity = std::numeric_limits<float>::infinity();

// Lengths around the borders of vectors and blocks.
inline const std::vector<int64_t> kTestLengths = {0, 1, 3, 7, 8, 17, 31, 64, 100, 1000};

inline Floats random_values(int64_t n, float low = -2, float high = 2, unsigned seed = 1) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> uniform(low, high);
  Floats values(static_cast<size_t>(n));
  for (float& value : values) value = uniform(engine);
  return values;
}

inline const Floats& edge_values() {
  static const Floats values = {
      0.0f,    -0.0f,         1e-40f,         -1e-40f, 1e-30f,  -1e-30f,  1e-8f,    -1e-8f,
      0.5f,    -0.5f,         1.0f,           -1.0f,   3.0f,    -3.0f,    6.0f,     -6.0f,
      20.5f,   -20.5f,        87.0f,          -87.0f,  88.7f,   -88.7f,   89.0f,    -104.0f,
      1000.0f, -1000.0f,      1e20f,          -1e20f,  3.4e38f, -3.4e38f, kTestNaN, -kTestNaN,
      2.0f,    kTestInfinity, -kTestInfinity, -2.0f};
  return values;
}

// Equal to `relative`, give or take `absolute`; NaN and infinities must agree, and what overflows
// float32 is infinite.
inline void expect_close(float actual, double expected, double relative, double absolute = 1e-37) {
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(actual)) << "got " << actual;
  } else if (std::isinf(static_cast<float>(expected))) {
    EXPECT_EQ(actual, static_cast<float>(expected));
  } else {
    EXPECT_NEAR(actual, expected, std::abs(expected) * relative + absolute);
  }
}

// Whether the first `n` floats are the same bits, NaN included.
inline bool same_bits(const Floats& a, const Floats& b, int64_t n) {
  return n == 0 || std::memcmp(a.data(), b.data(), static_cast<size_t>(n) * sizeof(float)) == 0;
}

}  // namespace snug::kernels
