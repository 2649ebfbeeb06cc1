#include "snug/base/random.h"

#include <gtest/gtest.h>

#include <set>

namespace snug {
namespace {

// The published known answers of Random123 for philox4x32 with ten rounds.
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox({ones, ones, ones, ones}, {ones, ones}),
            (PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, KeysDifferBySeedAndByStream) {
  std::set<PhiloxKey> keys;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    for (uint64_t stream = 0; stream < 100; ++stream) keys.insert(philox_key(seed, stream));
  }
  EXPECT_EQ(keys.size(), 10000u);
}

TEST(Philox, MixingFlipsHalfTheBits) {
  int flipped = 0;
  for (int bit = 0; bit < 64; ++bit) {
    flipped += __builtin_popcountll(mix_bits(12345) ^ mix_bits(12345 ^ uint64_t{1} << bit));
  }
  EXPECT_NEAR(flipped / 64.0, 32.0, 3.0);
}

}  // namespace
}  // namespace snug
