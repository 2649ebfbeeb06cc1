#include "snug/interop/zip_archive.h"

#include <gtest/gtest.h>

#include "snug/testing/faulty_file.h"
#include "snug/testing/memory_files.h"

namespace snug::testing {
namespace {

ZipMember counting_member(std::string name, int64_t bytes) {
  return {std::move(name), bytes, [](std::span<std::byte> into, int64_t offset) {
            for (size_t i = 0; i < into.size(); ++i)
              into[i] = static_cast<std::byte>((static_cast<size_t>(offset) + i) % 251);
          }};
}

TEST(ZipArchive, MembersComeBackInAnyOrder) {
  MemoryFiles files;
  const std::unique_ptr<File> out = files.open("a.zip", OpenMode::write);
  write_zip(*out, {text_member("metadata.json", "{}"), text_member("empty", ""),
                   counting_member("model.weights.h5", 300'001)});
  const std::unique_ptr<File> in = files.open("a.zip", OpenMode::read);
  ZipReader archive(*in);
  EXPECT_EQ(archive.names(),
            (std::vector<std::string>{"empty", "metadata.json", "model.weights.h5"}));
  EXPECT_TRUE(archive.has("empty"));
  EXPECT_FALSE(archive.has("absent"));
  EXPECT_EQ(archive.text("metadata.json", 10), "{}");
  EXPECT_EQ(archive.text("empty", 10), "");
  EXPECT_EQ(archive.text("model.weights.h5", 1 << 20).size(), 300'001);
}

TEST(ZipArchive, AStoredMemberIsReadAnywhere) {
  MemoryFiles files;
  const std::unique_ptr<File> out = files.open("a.zip", OpenMode::write);
  write_zip(*out, {counting_member("numbers", 100'000)});
  const std::unique_ptr<File> in = files.open("a.zip", OpenMode::read);
  ZipReader archive(*in);
  const std::unique_ptr<File> member = archive.open("numbers");
  EXPECT_EQ(member->size(), 100'000);
  for (const int64_t offset : {99'990, 0, 50'000, 3, 251, 99'999}) {
    std::vector<std::byte> bytes(static_cast<size_t>(std::min<int64_t>(300, 100'000 - offset)));
    member->read_exactly_at(bytes, offset);
    for (size_t i = 0; i < bytes.size(); ++i)
      ASSERT_EQ(static_cast<int64_t>(bytes[i]), (offset + static_cast<int64_t>(i)) % 251);
  }
  std::vector<std::byte> beyond(10);
  EXPECT_EQ(member->read_at(beyond, 99'995), 5);
  EXPECT_EQ(member->read_at(beyond, 100'000), 0);
  EXPECT_THROW(member->write_at(beyond, 0), FileError);
  EXPECT_THROW(member->append(beyond), FileError);
  EXPECT_THROW(member->truncate(0), FileError);
}

TEST(ZipArchive, WhatIsMissingOrTooLongIsSaid) {
  MemoryFiles files;
  const std::unique_ptr<File> out = files.open("a.zip", OpenMode::write);
  write_zip(*out, {text_member("a", "12345")});
  const std::unique_ptr<File> in = files.open("a.zip", OpenMode::read);
  ZipReader archive(*in);
  EXPECT_THROW(archive.text("b", 10), CorruptFile);
  EXPECT_THROW(archive.open("b"), CorruptFile);
  EXPECT_THROW(archive.text("a", 4), CorruptFile);
  EXPECT_EQ(archive.text("a", 5), "12345");
}

TEST(ZipArchive, AChangedByteIsFoundBeforeAnyIsUsed) {
  MemoryFiles files;
  const std::unique_ptr<File> out = files.open("a.zip", OpenMode::write);
  write_zip(*out, {counting_member("numbers", 10'000)});
  std::vector<std::byte> byte(1);
  out->read_exactly_at(byte, 5'000);
  byte[0] ^= std::byte{1};
  out->write_at(byte, 5'000);
  const std::unique_ptr<File> in = files.open("a.zip", OpenMode::read);
  ZipReader archive(*in);
  EXPECT_THROW(archive.open("numbers"), CorruptFile);
  EXPECT_THROW(archive.text("numbers", 1 << 20), CorruptFile);
}

// Errors of the disk arrive as such, through the C of the library.
TEST(ZipArchive, EveryFailedWriteIsReported) {
  MemoryFiles counted;
  FaultyFiles counter(counted);
  const auto write = [](FileSystem& files) {
    const std::unique_ptr<File> file = files.open("a.zip", OpenMode::write);
    write_zip(*file, {text_member("a", "text"), counting_member("numbers", 70'000)});
    file->close();
  };
  write(counter);
  ASSERT_GT(counter.calls(), 3);
  for (int64_t call = 1; call <= counter.calls(); ++call) {
    for (const Fault fault : {Fault::no_space, Fault::input_output}) {
      MemoryFiles disk;
      FaultyFiles faulty(disk);
      faulty.fail_call(call, fault);
      EXPECT_THROW(write(faulty), FileError) << call;
    }
    MemoryFiles disk;
    FaultyFiles faulty(disk);
    faulty.fail_call(call, Fault::crash);
    EXPECT_THROW(write(faulty), Crash) << call;
  }
}

TEST(ZipArchive, EveryFailedReadIsReported) {
  MemoryFiles disk;
  const std::unique_ptr<File> out = disk.open("a.zip", OpenMode::write);
  write_zip(*out, {text_member("a", "text"), counting_member("numbers", 70'000)});
  const auto read = [](FileSystem& files) {
    const std::unique_ptr<File> file = files.open("a.zip", OpenMode::read);
    ZipReader archive(*file);
    archive.text("a", 100);
    archive.open("numbers");
  };
  FaultyFiles counter(disk);
  counter.set_count_reads(true);
  read(counter);
  ASSERT_GT(counter.calls(), 5);
  for (int64_t call = 1; call <= counter.calls(); ++call) {
    FaultyFiles faulty(disk);
    faulty.set_count_reads(true);
    faulty.fail_call(call, Fault::input_output);
    try {
      read(faulty);
    } catch (const FileError&) {
      continue;  // The file's own error, or what the library makes of it.
    }
  }
}

TEST(ZipArchive, AMemberThatFailsIsReported) {
  MemoryFiles files;
  const std::unique_ptr<File> out = files.open("a.zip", OpenMode::write);
  const ZipMember failing{"bad", 100,
                          [](std::span<std::byte>, int64_t) { throw DataError("no elements"); }};
  EXPECT_THROW(write_zip(*out, {text_member("a", "x"), failing}), DataError);
}

}  // namespace
}  // namespace snug::testing
