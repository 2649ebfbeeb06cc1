#include "snug/kernels/stream_copy.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

namespace snug::kernels {
namespace {

// Of every length, from every place, and nothing behind it.
TEST(StreamCopy, CopiesAllAndNoMore) {
  std::vector<uint8_t> from(700);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<uint8_t>(i * 7 + i / 256);
  alignas(64) uint8_t to[640];
  for (size_t bytes = 0; bytes < 600; ++bytes) {
    std::memset(to, 0xee, sizeof(to));
    stream_copy(to, from.data() + bytes % 67, bytes);
    stream_end();
    EXPECT_EQ(std::memcmp(to, from.data() + bytes % 67, bytes), 0) << bytes;
    EXPECT_EQ(to[bytes], 0xee) << bytes;
  }
}

}  // namespace
}  // namespace snug::kernels
