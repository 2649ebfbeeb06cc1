#include "snug/data/distinct_sample.h"

#include <gtest/gtest.h>

#include "snug/base/random.h"

namespace snug {
namespace {

TEST(DistinctSample, TellsAboutHowManyThereAre) {
  for (const int64_t count : {0, 1, 256, 5'000, 300'000}) {
    DistinctSample sample(256);
    for (int turn = 0; turn < 2; ++turn) {
      for (int64_t i = 0; i < count; ++i) sample.add(mix_bits(static_cast<uint64_t>(i)));
    }
    EXPECT_NEAR(static_cast<double>(sample.estimate()), static_cast<double>(count),
                count > 256 ? 0.2 * static_cast<double>(count) : 0)
        << count;
  }
}

TEST(DistinctSample, IsTheSameInAnyOrderAndInParts) {
  DistinctSample forward(64), backward(64), parts(64), others(64);
  for (uint64_t i = 0; i < 10'000; ++i) {
    forward.add(mix_bits(i));
    backward.add(mix_bits(9'999 - i));
    (i < 300 ? parts : others).add(mix_bits(i));
  }
  parts.merge(others);
  EXPECT_EQ(forward.estimate(), backward.estimate());
  EXPECT_EQ(forward.estimate(), parts.estimate());
}

}  // namespace
}  // namespace snug
