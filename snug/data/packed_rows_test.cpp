#include "snug/data/packed_rows.h"

#include <gtest/gtest.h>

#include "snug/data/source_testing.h"
#include "snug/testing/memory_files.h"

namespace snug::testing {
namespace {

void write_rows(FileSystem& files, const Path& path, int64_t rows) {
  write_atomically(files, path, [&](File& file) {
    PackedWriter writer(file, 3, 20);
    for (uint32_t i = 0; i < static_cast<uint32_t>(rows); ++i) {
      const uint32_t row[3] = {i, i * 2, i * 3};
      writer.append(row);
    }
    writer.finish("what they are");
  });
}

TEST(PackedRows, ComeBack) {
  MemoryFiles files;
  const int64_t rows = 50'000;  // More than one buffer.
  write_rows(files, "p", rows);
  const auto packed = PackedFile::open(files, "p");
  ASSERT_NE(packed, nullptr);
  EXPECT_EQ(packed->rows(), rows);
  EXPECT_EQ(packed->description(), "what they are");
  std::vector<uint32_t> two(6);
  packed->read(rows - 2, two);
  const auto last = static_cast<uint32_t>(rows - 1);
  EXPECT_EQ(two, (std::vector<uint32_t>{last - 1, 2 * (last - 1), 3 * (last - 1), last, 2 * last,
                                        3 * last}));
  EXPECT_EQ(PackedFile::open(files, "absent"), nullptr);
}

TEST(PackedRows, DamageIsSeen) {
  MemoryFiles files;
  write_rows(files, "p", 10);
  const std::string whole = read_text(files, "p");
  for (size_t size = 0; size < whole.size(); ++size) {
    write_text(files, "q", whole.substr(0, size));
    EXPECT_THROW(PackedFile::open(files, "q"), CorruptFile) << size;
  }
  for (size_t byte = 0; byte < 12; ++byte) {
    std::string changed = whole;
    changed[byte] = static_cast<char>(changed[byte] + 1);
    write_text(files, "q", changed);
    EXPECT_THROW(PackedFile::open(files, "q"), CorruptFile) << byte;
  }
  const auto packed = PackedFile::open(files, "p");
  packed->check();
  files.open("p", OpenMode::update)->truncate(std::ssize(whole) - 1);
  expect_within(message_of<FileError>([&] { packed->check(); }), "during the run");
}

}  // namespace
}  // namespace snug::testing
