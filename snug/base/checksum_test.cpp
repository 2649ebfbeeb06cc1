#include "snug/base/checksum.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace snug {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// The value that the xxHash project publishes for no bytes at all.
TEST(Checksum, IsXxh3) { EXPECT_EQ(checksum({}), 0x2d06800538d394c2u); }

TEST(Checksum, PiecesGiveTheSame) {
  std::vector<std::byte> bytes(100'000);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7 >> 3);
  Checksum sum;
  for (size_t at = 0; at < bytes.size(); at += 777)
    sum.add(std::span(bytes).subspan(at, std::min<size_t>(777, bytes.size() - at)));
  EXPECT_EQ(sum.value(), checksum(bytes));
  bytes[50'000] ^= std::byte{1};
  EXPECT_NE(sum.value(), checksum(bytes));
  EXPECT_NE(checksum(bytes_of("a")), checksum(bytes_of("b")));
}

}  // namespace
}  // namespace snug
