#include "snug/base/bytes.h"

#include <gtest/gtest.h>

#include <random>

#include "snug/base/error.h"

namespace snug {
namespace {

TEST(Bytes, ReadsEveryForm) {
  EXPECT_EQ(parse_bytes("1024"), 1024);
  EXPECT_EQ(parse_bytes("0"), 0);
  EXPECT_EQ(parse_bytes("17 B"), 17);
  EXPECT_EQ(parse_bytes("256MiB"), 256_MiB);
  EXPECT_EQ(parse_bytes("64 MB"), 64'000'000);
  EXPECT_EQ(parse_bytes("1.5GiB"), 1536_MiB);
  EXPECT_EQ(parse_bytes("2G"), 2_GiB);
  EXPECT_EQ(parse_bytes("10kb"), 10'000);
  EXPECT_EQ(parse_bytes(" 3 k "), 3_KiB);
  EXPECT_EQ(parse_bytes("1TiB"), 1024_GiB);
  EXPECT_EQ(parse_bytes("2PiB"), 2048 * 1024_GiB);
  EXPECT_EQ(parse_bytes("1EB"), 1000000000000000000);
}

TEST(Bytes, KeepsEveryDigitOfAWholeNumber) {
  EXPECT_EQ(parse_bytes("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(parse_bytes("9007199254740993"), 9007199254740993);
}

TEST(Bytes, RefusesWhatIsNotANumberOfBytes) {
  for (const char* text :
       {"", " ", "MiB", "-1", "1e3", "nan", "inf", "1.5", "1..5M", ".", "12 elephants", "5 MiBs",
        "1,5GiB", "0x10", "9223372036854775808", "99999999TiB", "9999999999.5GiB", "1 2", "1M B"}) {
    EXPECT_THROW(parse_bytes(text), Error) << "'" << text << "'";
  }
}

TEST(Bytes, TheRefusalNamesTheTextAndTheRightForms) {
  try {
    parse_bytes("12 elephants", "fit.memory");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "fit.memory: '12 elephants' is not a number of bytes below 8 EiB; write it as "
                 "256MiB, 64 MB, 1.5GiB, "
                 "2G or 1024");
  }
}

TEST(Bytes, PrintsOneDigitBehindThePoint) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(1023), "1023 B");
  EXPECT_EQ(bytes_text(1024), "1.0 KiB");
  EXPECT_EQ(bytes_text(12_MiB + 300_KiB), "12.3 MiB");
  EXPECT_EQ(bytes_text(1_MiB - 1), "1.0 MiB");
  EXPECT_EQ(bytes_text(1536_MiB), "1.5 GiB");
  EXPECT_EQ(bytes_text(-2_MiB), "-2.0 MiB");
  EXPECT_EQ(bytes_text(INT64_MAX), "8.0 EiB");
}

TEST(Bytes, RoundedUpNeverSaysLess) {
  EXPECT_EQ(bytes_text(12_MiB + 1, Rounding::up), "12.1 MiB");
  EXPECT_EQ(bytes_text(12_MiB, Rounding::up), "12.0 MiB");
  std::mt19937_64 random(7);
  for (int i = 0; i < 10'000; ++i) {
    const auto bytes = static_cast<int64_t>(random() >> (16 + random() % 48));
    EXPECT_GE(parse_bytes(bytes_text(bytes, Rounding::up)), bytes);
  }
}

}  // namespace
}  // namespace snug
