#include "snug/kernels/convert.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "snug/kernels/test_values.h"

namespace snug::kernels {
namespace {

template <class From>
void check_casts() {
  for (const int64_t n : kTestLengths) {
    std::mt19937_64 engine(3);
    std::vector<From> from(static_cast<size_t>(n));
    for (From& value : from) value = static_cast<From>(engine());
    if (n > 1) {
      from[0] = std::numeric_limits<From>::lowest();
      from[1] = std::numeric_limits<From>::max();
    }
    Floats to(from.size() + 1, 77.0f);
    convert(from.data(), to.data(), n);
    for (size_t i = 0; i < from.size(); ++i) ASSERT_EQ(to[i], static_cast<float>(from[i]));
    EXPECT_EQ(to.back(), 77.0f);
  }
}

TEST(Convert, EveryTypeRoundsLikeACast) {
  check_casts<float>();
  check_casts<double>();
  check_casts<int8_t>();
  check_casts<int16_t>();
  check_casts<int32_t>();
  check_casts<int64_t>();
  check_casts<uint8_t>();
  check_casts<uint16_t>();
  check_casts<uint32_t>();
  check_casts<uint64_t>();
}

TEST(Convert, TruthIsZeroOrOne) {
  const bool from[] = {true, false, true};
  Floats to(3);
  convert(from, to.data(), 3);
  EXPECT_EQ(to, (Floats{1, 0, 1}));
}

// By the definition of the format, for all 65,536 of them.
TEST(Convert, EveryHalf) {
  std::vector<Half> from;
  for (uint32_t bits = 0; bits < 65536; ++bits) from.push_back({static_cast<uint16_t>(bits)});
  Floats to(from.size());
  convert(from.data(), to.data(), 65536);
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const int exponent = static_cast<int>(bits >> 10 & 31),
              mantissa = static_cast<int>(bits & 1023);
    double expected = exponent == 0    ? std::ldexp(mantissa, -24)
                      : exponent == 31 ? (mantissa ? NAN : INFINITY)
                                       : std::ldexp(1024 + mantissa, exponent - 25);
    if (bits & 0x8000) expected = -expected;
    expect_close(to[bits], expected, 0, 0);
    ASSERT_FALSE(testing::Test::HasFailure()) << bits;
  }
}

TEST(Convert, FloatsToInt32SayWhetherTheyFit) {
  int32_t to[5];
  const float whole[] = {0.0f, -3.0f, 1e6f, -2147483648.0f, 7.0f};
  EXPECT_TRUE(convert(whole, to, 5));
  EXPECT_EQ(to[1], -3);
  EXPECT_EQ(to[3], std::numeric_limits<int32_t>::min());
  const float others[] = {2.75f, -2.75f, 1e20f, -1e20f, kTestNaN};
  EXPECT_FALSE(convert(others, to, 5));
  EXPECT_EQ(to[0], 2);
  EXPECT_EQ(to[1], -2);
  EXPECT_EQ(to[2], std::numeric_limits<int32_t>::max());
  EXPECT_EQ(to[3], std::numeric_limits<int32_t>::min());
  EXPECT_EQ(to[4], std::numeric_limits<int32_t>::min());
  for (const float& value : others) EXPECT_FALSE(convert(&value, to, 1));
}

TEST(Convert, Int64ToInt32SaysWhetherTheyFit) {
  int32_t to[3];
  const int64_t fits[] = {-5, 2147483647, -2147483648ll}, wide[] = {1, 1ll << 40, -(1ll << 40)};
  EXPECT_TRUE(convert(fits, to, 3));
  EXPECT_EQ(to[1], 2147483647);
  EXPECT_FALSE(convert(wide, to, 3));
  EXPECT_EQ(to[0], 1);
  EXPECT_EQ(to[1], 2147483647);
  EXPECT_EQ(to[2], std::numeric_limits<int32_t>::min());
}

TEST(Convert, FloatsToDouble) {
  const Floats from = random_values(19);
  std::vector<double> to(19);
  convert(from.data(), to.data(), 19);
  for (size_t i = 0; i < 19; ++i) EXPECT_EQ(to[i], double{from[i]});
}

}  // namespace
}  // namespace snug::kernels
