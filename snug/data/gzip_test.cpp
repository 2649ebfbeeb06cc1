#include "snug/data/gzip.h"

#include "snug/data/gzip_testing.h"
#include "snug/data/source_testing.h"
#include "snug/testing/memory_files.h"

namespace snug {
namespace {

using testing::expect_within;
using testing::gzipped;
using testing::message_of;

// Hard to compress, so that the file is longer than the reader's buffer.
std::string noise(size_t size) {
  std::string bytes(size, '\0');
  uint32_t state = 1;
  for (char& byte : bytes) byte = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  return bytes;
}

class GzipTest : public ::testing::Test {
 protected:
  std::unique_ptr<File> file(std::string_view bytes) {
    testing::write_text(files_, "a.gz", bytes);
    return files_.open("a.gz", OpenMode::read);
  }
  std::string inflated(std::string_view bytes, size_t piece = 1000) {
    const auto open = file(bytes);
    GzipReader gzip(*open);
    std::string all, part(piece, '\0');
    while (const size_t count = gzip.read(std::as_writable_bytes(std::span(part)))) {
      all += part.substr(0, count);
    }
    return all;
  }

  testing::MemoryFiles files_;
};

TEST_F(GzipTest, GivesBackWhatWasCompressed) {
  for (const size_t size : {0, 1, 999, 1000, 1001, 300'000}) {
    const std::string bytes = noise(size);
    EXPECT_EQ(inflated(gzipped(bytes)), bytes) << size;
  }
  EXPECT_EQ(inflated(gzipped(noise(5000)), 1), noise(5000));
}

TEST_F(GzipTest, ReadsSeveralStreams) {
  EXPECT_EQ(inflated(gzipped("one ") + gzipped("") + gzipped("two")), "one two");
}

// As tar and tapes leave them.
TEST_F(GzipTest, ZerosAtTheEndAreNothing) {
  const std::string zeros(100'000, '\0');
  for (const size_t count : {size_t{1}, size_t{512}, zeros.size()})
    EXPECT_EQ(inflated(gzipped("one") + zeros.substr(0, count)), "one") << count;
  EXPECT_EQ(inflated(gzipped("one ") + zeros + gzipped("two")), "one two");
  expect_within(message_of<DataError>([&] { inflated(gzipped("x") + zeros + "rest"); }), "damaged");
}

TEST_F(GzipTest, KnowsItsOwn) {
  EXPECT_TRUE(is_gzip(*file(gzipped("x"))));
  EXPECT_FALSE(is_gzip(*file("plain")));
  EXPECT_FALSE(is_gzip(*file("\x1f")));
  EXPECT_FALSE(is_gzip(*file("")));
}

TEST_F(GzipTest, RefusesWhatIsCutOffOrDamaged) {
  const std::string whole = gzipped(noise(100'000));
  for (const size_t size : {size_t{0}, size_t{5}, size_t{70'000}, whole.size() - 1}) {
    expect_within(message_of<DataError>([&] { inflated(whole.substr(0, size)); }),
                  fmt::format("a.gz: the gzip file is cut off at byte {};", size));
  }
  std::string damaged = whole;
  damaged[damaged.size() - 6] ^= 1;  // In the checksum.
  expect_within(message_of<DataError>([&] { inflated(damaged); }),
                "damaged (incorrect data check)");
  expect_within(message_of<DataError>([&] { inflated(gzipped("x") + "rest"); }),
                "damaged (incorrect header check)");
}

}  // namespace
}  // namespace snug
