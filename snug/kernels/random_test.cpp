#include "snug/kernels/random.h"

#include <algorithm>
#include <cmath>

#include "snug/base/random.h"
#include "snug/kernels/test_values.h"

namespace snug::kernels {
namespace {

const RandomKey kKey = {.seed = 7, .stream = 0x1234567890abcdefu, .epoch = 3, .call = 2};

// The word that element `e` of a row takes when groups have `blocks` blocks and a word serves
// `halves` elements.
uint32_t word_of(uint64_t position, int64_t e, int64_t blocks, int halves, int& half) {
  const int64_t group = 4 * halves * blocks, within = e % group;
  const uint32_t block = static_cast<uint32_t>(e / group * blocks + within % blocks);
  const PhiloxCounter words = philox({block, static_cast<uint32_t>(position), kKey.epoch,
                                      kKey.call | static_cast<uint32_t>(position >> 32) << 16},
                                     philox_key(kKey.seed, kKey.stream));
  half = static_cast<int>(within / blocks) % halves;
  return words[static_cast<size_t>(within / blocks / halves)];
}

TEST(Random, UniformIsPhiloxElementByElement) {
  const uint64_t position = (uint64_t{5} << 32) + 11;
  for (const int64_t columns : {1, 10, 15, 16, 17, 64, 100, 200}) {
    Floats y(static_cast<size_t>(3 * columns) + 1, 77.0f);
    random_uniform({kKey, position, 3, columns}, 0, 1, y.data());
    for (int64_t i = 0; i < 3 * columns; ++i) {
      int half = 0;
      const uint64_t row = position + static_cast<uint64_t>(i / columns);
      const uint32_t word = word_of(row, i % columns, 16, 1, half);
      ASSERT_EQ(y[static_cast<size_t>(i)], static_cast<float>(word >> 8) * 0x1p-24f);
    }
    EXPECT_EQ(y.back(), 77.0f);
  }
}

TEST(Random, DropoutIsPhiloxElementByElement) {
  for (const int64_t columns : {1, 10, 17, 64, 128, 300}) {
    const Floats x = random_values(4 * columns, 1, 2);
    Floats y(x.size()), mask(x.size());
    const RandomRows where{kKey, 99, 4, columns};
    dropout(where, 0.25f, x.data(), y.data());
    dropout_mask(where, 0.25f, mask.data());
    for (int64_t i = 0; i < 4 * columns; ++i) {
      int half = 0;
      const uint32_t word =
          word_of(99 + static_cast<uint64_t>(i / columns), i % columns, 8, 2, half);
      const bool keeps = (half == 0 ? word & 0xffff : word >> 16) >= 16384;
      const size_t k = static_cast<size_t>(i);
      ASSERT_EQ(mask[k], keeps ? 1 / 0.75f : 0.0f);
      ASSERT_FLOAT_EQ(y[k], keeps ? x[k] / 0.75f : 0.0f);
    }
    Floats over = x;
    dropout(where, 0.25f, over.data(), over.data());
    EXPECT_EQ(over, y);
    dropout(where, 0.0f, x.data(), y.data());
    EXPECT_EQ(y, x);
  }
}

TEST(Random, RowsCanBeDrawnInAnySplit) {
  Floats whole(10 * 70), parts(10 * 70);
  random_normal({kKey, 20, 10, 70}, 0, 1, whole.data());
  random_normal({kKey, 24, 6, 70}, 0, 1, parts.data() + 4 * 70);
  random_normal({kKey, 20, 4, 70}, 0, 1, parts.data());
  EXPECT_EQ(whole, parts);
}

TEST(Random, EveryPartOfTheKeyMatters) {
  const RandomRows start{kKey, 1, 1, 40};
  Floats first(40), other(40);
  random_uniform(start, 0, 1, first.data());
  std::vector<RandomRows> changes(5, start);
  changes[0].key.seed++, changes[1].key.stream++, changes[2].key.epoch++, changes[3].key.call++;
  changes[4].position++;
  for (const RandomRows& change : changes) {
    random_uniform(change, 0, 1, other.data());
    EXPECT_NE(first, other);
  }
}

struct Moments {
  double mean = 0, variance = 0, fourth = 0;
};

Moments moments(const Floats& y) {
  Moments m;
  for (const float v : y) m.mean += v / double(y.size());
  for (const float v : y) m.variance += std::pow(v - m.mean, 2) / double(y.size());
  for (const float v : y) m.fourth += std::pow(v - m.mean, 4) / double(y.size());
  return m;
}

// The bounds are about five standard errors of a million draws.
TEST(Random, DistributionsHaveTheirMoments) {
  const RandomRows where{kKey, 0, 1000, 1000};
  Floats y(1'000'000);
  random_uniform(where, -1, 3, y.data());
  EXPECT_NEAR(moments(y).mean, 1, 0.006);
  EXPECT_NEAR(moments(y).variance, 16.0 / 12, 0.01);
  EXPECT_GE(*std::min_element(y.begin(), y.end()), -1);
  EXPECT_LT(*std::max_element(y.begin(), y.end()), 3);

  random_normal(where, 2, 3, y.data());
  const Moments normal = moments(y);
  EXPECT_NEAR(normal.mean, 2, 0.015);
  EXPECT_NEAR(normal.variance, 9, 0.07);
  EXPECT_NEAR(normal.fourth / (normal.variance * normal.variance), 3, 0.03);

  random_truncated_normal(where, 0, 0.05f, y.data());
  EXPECT_NEAR(moments(y).mean, 0, 0.0003);
  EXPECT_NEAR(std::sqrt(moments(y).variance), 0.05 * 0.87962566, 0.0002);
  EXPECT_LE(*std::max_element(y.begin(), y.end()), 0.1f);
  EXPECT_GE(*std::min_element(y.begin(), y.end()), -0.1f);

  dropout_mask(where, 0.3f, y.data());
  const double dropped = double(std::count(y.begin(), y.end(), 0.0f)) / 1e6;
  EXPECT_NEAR(dropped, 0.3, 0.0025);
}

// The n-th smallest of many draws stands where the inverse of the distribution says.
TEST(Random, TruncatedNormalHasItsQuantiles) {
  Floats y(200'000);
  random_truncated_normal({kKey, 0, 200, 1000}, 0, 1, y.data());
  std::sort(y.begin(), y.end());
  const double edge = std::erf(std::sqrt(2.0));
  for (const double x : {-1.9, -1.5, -0.5, 0.0, 0.3, 1.0, 1.8}) {
    const double share = (std::erf(x / std::sqrt(2.0)) + edge) / (2 * edge);
    EXPECT_NEAR(y[static_cast<size_t>(share * 200'000)], x, 0.03);
  }
}

}  // namespace
}  // namespace snug::kernels
