#include "snug/base/growing_file.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "snug/base/error.h"
#include "snug/testing/faulty_file.h"
#include "snug/testing/forwarding_files.h"
#include "snug/testing/memory_files.h"

namespace snug::testing {
namespace {

TEST(GrowingFile, GrowsAtItsEnd) {
  MemoryFiles files;
  write_text(files, "log", "old\n");
  GrowingFile log(files, "log", OpenMode::append);
  EXPECT_EQ(log.bytes(), 4);
  log.add("a\n");
  log.add("b\n");
  EXPECT_EQ(read_text(files, "log"), "old\n");
  log.flush();
  log.flush();
  EXPECT_EQ(read_text(files, "log"), "old\na\nb\n");
  EXPECT_EQ(GrowingFile(files, "log", OpenMode::write).bytes(), 0);
  EXPECT_EQ(read_text(files, "log"), "");
}

// Every call fails once in every way: each record is there once in the end, and never in part.
TEST(GrowingFile, HasWholeRecordsWhateverFails) {
  for (const Fault fault : {Fault::no_space, Fault::input_output, Fault::short_write}) {
    for (int64_t call = 1; call <= 8; ++call) {
      MemoryFiles disk;
      FaultyFiles files(disk);
      GrowingFile log(files, "log", OpenMode::write);
      files.fail_call(call, fault);
      const std::string lines[] = {"one\n", "two\n", "three\n", "four\n"};
      for (const std::string& line : lines) {
        log.add(line);
        try {
          log.flush();
        } catch (const FileError&) {
          EXPECT_EQ(read_text(disk, "log").size(), log.bytes());
          EXPECT_FALSE(log.pending().empty());
        }
      }
      log.flush();
      EXPECT_EQ(read_text(disk, "log"), "one\ntwo\nthree\nfour\n") << "call " << call;
    }
  }
}

// The part of a record that cannot be cut off at once is gone before the next one.
TEST(GrowingFile, CutsOffWhatWasTorn) {
  class TornDisk final : public ForwardingFile {
   public:
    using ForwardingFile::ForwardingFile;
    void truncate(int64_t size) override {
      if (broken) throw file_error(path(), "cut it", EIO);
      inner().truncate(size);
    }
    bool broken = true;

   protected:
    size_t write_some(std::span<const std::byte> from, int64_t offset) override {
      if (broken && from.size() == 1) throw file_error(path(), "write to it", ENOSPC);
      const size_t count = broken ? from.size() - 1 : from.size();
      inner().write_at(from.first(count), offset);
      return count;
    }
    size_t append_some(std::span<const std::byte> from) override {
      return write_some(from, size());
    }
  };
  class TornFiles final : public ForwardingFiles {
   public:
    using ForwardingFiles::ForwardingFiles;
    std::unique_ptr<File> open(const Path& path, OpenMode mode) override {
      auto file = std::make_unique<TornDisk>(inner().open(path, mode));
      last = file.get();
      return file;
    }
    TornDisk* last = nullptr;
  };
  MemoryFiles memory;
  TornFiles files(memory);
  GrowingFile log(files, "log", OpenMode::write);
  log.add("a long record");
  EXPECT_THROW(log.flush(), FileError);
  EXPECT_EQ(read_text(memory, "log"), "a long recor");
  files.last->broken = false;
  EXPECT_TRUE(log.go_back(0, "x"));
  log.flush();
  EXPECT_EQ(read_text(memory, "log"), "x");
}

TEST(GrowingFile, GoesBack) {
  MemoryFiles files;
  write_text(files, "log", "one two three");
  GrowingFile log(files, "log", OpenMode::append);
  EXPECT_TRUE(log.go_back(4, "TWO"));
  EXPECT_EQ(read_text(files, "log"), "one ");
  log.flush();
  EXPECT_EQ(read_text(files, "log"), "one TWO");
  EXPECT_FALSE(log.go_back(100, "!"));
  log.flush();
  EXPECT_EQ(read_text(files, "log"), "one TWO!");
}

TEST(GrowingFile, KeepsALimitedNumberOfRecords) {
  MemoryFiles files;
  GrowingFile log(files, "log", OpenMode::write);
  const std::string half(GrowingFile::kMostPending / 2, 'x');
  for (int i = 0; i < 3; ++i) log.add(half);
  EXPECT_EQ(log.lost(), 1);
  log.flush();
  EXPECT_LT(log.pending().capacity(), half.size());  // What was large is not held.
  log.add(half);
  EXPECT_EQ(log.lost(), 1);
}

}  // namespace
}  // namespace snug::testing
