#include "snug/kernels/pixel_row.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace snug::kernels {
namespace {

TEST(PixelRow, IsSqueezedAsAPlainLoopWould) {
  std::mt19937 random(1);
  for (const int64_t channels : {1, 3, 4}) {
    const int64_t width = 37, count = 23;
    std::vector<uint8_t> row(static_cast<size_t>(width * channels + kPixelPadding));
    for (uint8_t& byte : row) byte = static_cast<uint8_t>(random());
    std::vector<PixelPlace> places(static_cast<size_t>(count));
    for (PixelPlace& place : places) {
      place = {static_cast<int32_t>(random() % width * channels),
               static_cast<int32_t>(random() % width * channels),
               static_cast<float>(random() % 1000) / 1000};
    }
    std::vector<float> to(static_cast<size_t>(count * channels + kPixelPadding), -1);
    squeeze_pixels(row.data(), places.data(), count, channels, to.data());
    for (int64_t i = 0; i < count * channels; ++i) {
      const PixelPlace& place = places[i / channels];
      const float first = row[place.first + i % channels],
                  second = row[place.second + i % channels];
      EXPECT_EQ(to[i], first + (second - first) * place.share) << "to the last bit";
    }
  }
}

// Rows made wider and narrower, with an odd number of pixels too.
TEST(PixelRow, PairsGiveTheSameBits) {
  std::mt19937 random(2);
  for (const int64_t channels : {3, 4}) {
    for (const int64_t count : {1, 2, 17, 30, 61}) {
      const int64_t width = 32;
      std::vector<uint8_t> row(static_cast<size_t>(width * channels + kPixelPadding));
      for (uint8_t& byte : row) byte = static_cast<uint8_t>(random());
      std::vector<PixelPlace> places(static_cast<size_t>(count));
      for (int64_t j = 0; j < count; ++j) {
        const auto first = static_cast<int32_t>(j * width / std::max(count, width / 2));
        const int32_t second = std::min<int32_t>(first + 1, width - 1);
        places[static_cast<size_t>(j)] = {first * static_cast<int32_t>(channels),
                                          second * static_cast<int32_t>(channels),
                                          static_cast<float>(random() % 1000) / 1000};
      }
      std::vector<PixelPair> pairs(static_cast<size_t>(count + 1) / 2);
      ASSERT_TRUE(pair_pixels(places.data(), count, channels, pairs.data()));
      std::vector<float> to(static_cast<size_t>(count * channels + kPixelPadding), -1), same = to;
      squeeze_pixels(row.data(), places.data(), count, channels, to.data());
      squeeze_pixel_pairs(row.data(), pairs.data(), count, channels, same.data());
      to.resize(static_cast<size_t>(count * channels));
      same.resize(to.size());
      EXPECT_EQ(to, same) << count;
    }
  }
}

TEST(PixelRow, WhatStandsFarApartIsNoPair) {
  std::vector<PixelPlace> places = {{0, 3, 0.5f}, {10, 13, 0.5f}};
  PixelPair pair;
  EXPECT_TRUE(pair_pixels(places.data(), 2, 3, &pair));
  EXPECT_FALSE(pair_pixels(places.data(), 2, 4, &pair));
  EXPECT_FALSE(pair_pixels(places.data(), 2, 1, &pair));
  places[1] = {11, 14, 0.5f};
  EXPECT_FALSE(pair_pixels(places.data(), 2, 3, &pair));
}

TEST(PixelRow, TwoRowsAreMixed) {
  const std::vector<float> upper = {1, 2, 3, 4, 5}, lower = {5, 4, 3, 2, 255};
  std::vector<float> to(5);
  mix_rows(upper.data(), lower.data(), 0.25f, 5, to.data());
  EXPECT_EQ(to, (std::vector<float>{2, 2.5, 3, 3.5, 67.5}));
}

}  // namespace
}  // namespace snug::kernels
