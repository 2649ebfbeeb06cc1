#include "snug/data/record_lengths.h"

#include <gtest/gtest.h>

#include <numeric>

#include "snug/testing/forwarding_files.h"
#include "snug/testing/memory_files.h"

namespace snug::testing {
namespace {

constexpr int64_t kAny = int64_t{1} << 30;

int64_t bytes_of(const std::vector<int64_t>& lengths) {
  return std::accumulate(lengths.begin(), lengths.end(), std::ssize(lengths) * kRecordFrameBytes);
}

void keep(FileSystem& files, const std::vector<int64_t>& lengths) {
  RecordLengthsWriter writer(files, "cache/a.lengths");
  for (const int64_t length : lengths) writer.add(length);
  writer.finish();
}

// Nullopt: not kept.
std::optional<std::vector<int64_t>> kept(FileSystem& files, int64_t file_bytes,
                                         int64_t most = kAny) {
  std::vector<int64_t> lengths;
  const auto visit = [&](int64_t length) { lengths.push_back(length); };
  if (read_record_lengths(files, "cache/a.lengths", file_bytes, most, visit)) return lengths;
  EXPECT_TRUE(lengths.empty());
  return std::nullopt;
}

TEST(RecordLengths, ComeBackAsTheyWereKept) {
  // More than a piece of the file holds.
  for (const size_t count : {size_t{0}, size_t{1}, size_t{3}, size_t{40'000}}) {
    std::vector<int64_t> lengths(count);
    for (size_t i = 0; i < count; ++i) lengths[i] = static_cast<int64_t>(i * i % 1000);
    MemoryFiles files;
    EXPECT_FALSE(kept(files, bytes_of(lengths)));
    keep(files, lengths);
    EXPECT_EQ(kept(files, bytes_of(lengths)), lengths);
    EXPECT_EQ(files.list("cache"), std::vector<std::string>{"a.lengths"});
  }
}

TEST(RecordLengths, WhatDoesNotBelongToTheFileIsNotTaken) {
  MemoryFiles files;
  const std::vector<int64_t> lengths = {5, 7, 900, 0};
  keep(files, lengths);
  const int64_t bytes = bytes_of(lengths);
  EXPECT_FALSE(kept(files, bytes + 1)) << "another size";
  EXPECT_FALSE(kept(files, bytes, 899)) << "a record that is too long";
  EXPECT_TRUE(kept(files, bytes, 900));
  const std::unique_ptr<File> file = files.open("cache/a.lengths", OpenMode::update);
  for (int64_t at = 0; at < file->size(); ++at) {
    std::byte byte{};
    file->read_exactly_at({&byte, 1}, at);
    const std::byte other = byte ^ std::byte{4};
    file->write_at({&other, 1}, at);
    EXPECT_FALSE(kept(files, bytes)) << "byte " << at;
    file->write_at({&byte, 1}, at);
  }
  file->truncate(file->size() - 4);
  EXPECT_FALSE(kept(files, bytes));
  file->truncate(3);
  EXPECT_FALSE(kept(files, bytes));
}

// No file can be made, or written, or put in its place.
class FullDisk final : public ForwardingFiles {
 public:
  FullDisk(FileSystem& inner, int part) : ForwardingFiles(inner), part_(part) {}

  std::unique_ptr<File> open(const Path& path, OpenMode mode) override {
    if (part_ == 0) throw FileError("full");
    std::unique_ptr<File> file = ForwardingFiles::open(path, mode);
    return part_ == 1 ? std::make_unique<FullFile>(std::move(file)) : std::move(file);
  }
  void rename(const Path&, const Path&) override { throw FileError("full"); }

 private:
  class FullFile final : public ForwardingFile {
   public:
    using ForwardingFile::ForwardingFile;

   protected:
    size_t append_some(std::span<const std::byte>) override { throw FileError("full"); }
  };

  int part_;
};

TEST(RecordLengths, WithoutRoomNothingIsKeptAndNothingIsLeft) {
  for (const int part : {0, 1, 2}) {
    MemoryFiles files;
    FullDisk disk(files, part);
    EXPECT_NO_THROW(keep(disk, std::vector<int64_t>(40'000, 3))) << part;
    EXPECT_TRUE(files.list("cache").empty()) << part;
  }
}

// Can be read so many times, then no more.
class FailingReads final : public ForwardingFiles {
 public:
  FailingReads(FileSystem& inner, int reads) : ForwardingFiles(inner), left_(reads) {}
  std::unique_ptr<File> open(const Path& path, OpenMode mode) override {
    return std::make_unique<Reads>(inner().open(path, mode), left_);
  }

 private:
  class Reads final : public ForwardingFile {
   public:
    Reads(std::unique_ptr<File> inner, int& left) : ForwardingFile(std::move(inner)), left_(left) {}

   protected:
    size_t read_some(std::span<std::byte> into, int64_t offset) override {
      if (left_-- <= 0) throw FileError("gone");
      return ForwardingFile::read_some(into, offset);
    }

   private:
    int& left_;
  };

  int left_;
};

// Who has seen some of them must not be told that there are none.
TEST(RecordLengths, AReadThatFailsLaterIsAnError) {
  MemoryFiles files;
  const std::vector<int64_t> lengths(40'000, 3);
  keep(files, lengths);
  int refused = 0, failed = 0;
  for (int reads = 0;; ++reads) {
    FailingReads disk(files, reads);
    try {
      if (kept(disk, bytes_of(lengths))) break;
      ++refused;
    } catch (const FileError&) {
      ++failed;
    }
  }
  EXPECT_GT(refused, 0);
  EXPECT_GT(failed, 0);
}

TEST(RecordLengths, ThoseOfAFileThatIsNotWholeAreNotKept) {
  MemoryFiles files;
  { RecordLengthsWriter(files, "cache/a.lengths").add(5); }
  EXPECT_TRUE(files.list("cache").empty());
  RecordLengthsWriter nowhere(files, "");
  EXPECT_NO_THROW(nowhere.add(5));
  EXPECT_NO_THROW(nowhere.finish());
}

}  // namespace
}  // namespace snug::testing
