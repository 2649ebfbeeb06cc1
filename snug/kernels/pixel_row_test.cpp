#include "snug/kernels/pixel_row.h"

#include <gtest/gtest.h>

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

TEST(PixelRow, TwoRowsAreMixed) {
  const std::vector<float> upper = {1, 2, 3, 4, 5}, lower = {5, 4, 3, 2, 255};
  std::vector<float> to(5);
  mix_rows(upper.data(), lower.data(), 0.25f, 5, to.data());
  EXPECT_EQ(to, (std::vector<float>{2, 2.5, 3, 3.5, 67.5}));
}

}  // namespace
}  // namespace snug::kernels
