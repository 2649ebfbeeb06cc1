#include "snug/base/growing_file.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "snug/base/error.h"
#include "snug/testing/faulty_file.h"
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
  class TornDisk final : public File {
   public:
    explicit TornDisk(std::unique_ptr<File> inner)
        : File(inner->path()), inner_(std::move(inner)) {}
    int64_t size() override { return inner_->size(); }
    void truncate(int64_t size) override {
      if (broken) throw file_error(path(), "cut it", EIO);
      inner_->truncate(size);
    }
    void sync() override {}
    void close() override {}
    bool broken = true;

   protected:
    size_t read_some(std::span<std::byte>, int64_t) override { return 0; }
    size_t write_some(std::span<const std::byte> from, int64_t offset) override {
      if (broken && from.size() == 1) throw file_error(path(), "write to it", ENOSPC);
      const size_t count = broken ? from.size() - 1 : from.size();
      inner_->write_at(from.first(count), offset);
      return count;
    }
    size_t append_some(std::span<const std::byte> from) override {
      return write_some(from, size());
    }

   private:
    std::unique_ptr<File> inner_;
  };
  class TornFiles final : public FileSystem {
   public:
    std::unique_ptr<File> open(const Path& path, OpenMode mode) override {
      auto file = std::make_unique<TornDisk>(inner.open(path, mode));
      last = file.get();
      return file;
    }
    std::optional<int64_t> size(const Path& path) override { return inner.size(path); }
    std::vector<std::string> list(const Path& path) override { return inner.list(path); }
    void rename(const Path& from, const Path& to) override { inner.rename(from, to); }
    bool remove(const Path& path) override { return inner.remove(path); }
    void create_directories(const Path& path) override { inner.create_directories(path); }
    void sync_directory(const Path& path) override { inner.sync_directory(path); }
    int64_t free_bytes(const Path& path) override { return inner.free_bytes(path); }
    MemoryFiles inner;
    TornDisk* last = nullptr;
  };
  TornFiles files;
  GrowingFile log(files, "log", OpenMode::write);
  log.add("a long record");
  EXPECT_THROW(log.flush(), FileError);
  EXPECT_EQ(read_text(files.inner, "log"), "a long recor");
  files.last->broken = false;
  EXPECT_TRUE(log.go_back(0, "x"));
  log.flush();
  EXPECT_EQ(read_text(files.inner, "log"), "x");
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
  log.add(half);
  EXPECT_EQ(log.lost(), 1);
}

}  // namespace
}  // namespace snug::testing
