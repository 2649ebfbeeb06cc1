#include "snug/kernels/fill_missing.h"

#include <gtest/gtest.h>

#include <bit>
#include <random>
#include <vector>

namespace snug::kernels {
namespace {

TEST(FillMissing, CopiesNumbersAndFillsGaps) {
  constexpr uint32_t kMark = 0x7fc00000;
  std::mt19937 random(1);
  for (int trial = 0; trial < 500; ++trial) {
    const size_t columns = 1 + random() % 40, stride = columns + random() % 4, rows = random() % 30;
    // Just as long as they must be, so that a sanitizer sees what is read or written beyond them.
    const size_t size = rows == 0 ? 0 : (rows - 1) * stride + columns;
    std::vector<uint32_t> from(size);
    for (uint32_t& bits : from)
      bits = random() % 5 == 0 ? kMark : std::bit_cast<uint32_t>(static_cast<float>(random()));
    std::vector<float> missing(columns + kMissingPadding), to(rows * columns, -1);
    for (size_t i = 0; i < columns; ++i) missing[i] = static_cast<float>(i) / 7;
    fill_missing(from.data(), rows, stride, columns, kMark, missing.data(), to.data());
    for (size_t row = 0; row < rows; ++row) {
      for (size_t i = 0; i < columns; ++i) {
        const uint32_t bits = from[row * stride + i];
        const float expected = bits == kMark ? missing[i] : std::bit_cast<float>(bits);
        ASSERT_EQ(to[row * columns + i], expected) << rows << " x " << columns << " at " << row;
      }
    }
  }
}

}  // namespace
}  // namespace snug::kernels
