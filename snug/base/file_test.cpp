#include "snug/base/file.h"

#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <fstream>

#include "snug/testing/memory_files.h"
#include "snug/testing/temp_dir.h"

namespace snug {
namespace {

using testing::MemoryFiles;
using testing::read_text;
using testing::TempDir;
using testing::write_text;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const FileError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

// Both file systems keep the same contract: the one in memory is only worth something in tests if
// it does.
class FileSystemTest : public ::testing::TestWithParam<bool> {
 protected:
  FileSystem& files() { return GetParam() ? real_files() : memory_; }
  Path path(const std::string& name) const { return GetParam() ? temp_ / name : Path(name); }

  TempDir temp_;
  MemoryFiles memory_;
};

TEST_P(FileSystemTest, WritesAndReadsAnywhere) {
  const auto file = files().open(path("a"), OpenMode::write);
  file->write_at(bytes_of("world"), 6);
  file->write_at(bytes_of("hello "), 0);
  EXPECT_EQ(file->size(), 11);
  EXPECT_EQ(read_text(files(), path("a")), "hello world");
  std::string into(20, '.');
  EXPECT_EQ(file->read_at(std::as_writable_bytes(std::span(into)), 6), 5u);
  EXPECT_EQ(into.substr(0, 6), "world.");
  EXPECT_EQ(file->read_at(std::as_writable_bytes(std::span(into)), 100), 0u);
}

TEST_P(FileSystemTest, ModesKeepOrEmptyTheFile) {
  write_text(files(), path("a"), "one");
  files().open(path("a"), OpenMode::append)->append(bytes_of(" two"));
  EXPECT_EQ(read_text(files(), path("a")), "one two");
  files().open(path("a"), OpenMode::update)->write_at(bytes_of("ONE"), 0);
  EXPECT_EQ(read_text(files(), path("a")), "ONE two");
  files().open(path("a"), OpenMode::write);
  EXPECT_EQ(files().size(path("a")), 0);
}

TEST_P(FileSystemTest, TruncateCutsAndGrows) {
  write_text(files(), path("a"), "abcdef");
  const auto file = files().open(path("a"), OpenMode::update);
  file->truncate(2);
  file->truncate(3);
  EXPECT_EQ(read_text(files(), path("a")), std::string("ab\0", 3));
}

TEST_P(FileSystemTest, NamesAreListedRenamedAndRemoved) {
  files().create_directories(path("d/e"));
  files().create_directories(path("d/e"));
  write_text(files(), path("d/b"), "1");
  write_text(files(), path("d/a"), "2");
  EXPECT_EQ(files().list(path("d")), (std::vector<std::string>{"a", "b", "e"}));
  files().rename(path("d/a"), path("d/b"));
  EXPECT_EQ(read_text(files(), path("d/b")), "2");
  EXPECT_TRUE(files().remove(path("d/b")));
  EXPECT_FALSE(files().remove(path("d/b")));
  EXPECT_EQ(files().size(path("d/b")), std::nullopt);
  EXPECT_GT(files().free_bytes(path("d")), 0);
}

TEST_P(FileSystemTest, AMissingFileIsNamed) {
  const Path missing = path("no/such/file");
  const std::string expected = missing.string() + ": cannot ";
  EXPECT_EQ(message_of([&] { files().open(missing, OpenMode::read); }),
            expected + "open it: No such file or directory; check the path");
  EXPECT_THROW(files().open(missing, OpenMode::write), FileError);
  EXPECT_THROW(files().list(path("no")), FileError);
  EXPECT_THROW(files().rename(missing, path("b")), FileError);
  EXPECT_THROW(files().sync_directory(path("no")), FileError);
}

TEST_P(FileSystemTest, AFileThatEndsEarlyIsNamed) {
  write_text(files(), path("a"), "abc");
  std::string into(5, ' ');
  EXPECT_EQ(message_of([&] {
              files()
                  .open(path("a"), OpenMode::read)
                  ->read_exactly_at(std::as_writable_bytes(std::span(into)), 1);
            }),
            path("a").string() +
                ": cannot read 5 bytes at 1: the file ends after 2 of them; it may "
                "have been cut short, so get it again");
}

TEST_P(FileSystemTest, WritesAtomically) {
  write_text(files(), path("a"), "old");
  write_atomically(files(), path("a"), [&](File& file) {
    file.append(bytes_of("new"));
    EXPECT_EQ(read_text(files(), path("a")), "old");
  });
  EXPECT_EQ(read_text(files(), path("a")), "new");
  EXPECT_EQ(files().list(path(".")), (std::vector<std::string>{"a"}));
}

TEST_P(FileSystemTest, AWriterThatThrowsLeavesTheOldFile) {
  write_text(files(), path("a"), "old");
  const auto fails = [](File& file) {
    file.append(bytes_of("half"));
    throw Error("stop");
  };
  EXPECT_THROW(write_atomically(files(), path("a"), fails), Error);
  EXPECT_EQ(read_text(files(), path("a")), "old");
  EXPECT_EQ(files().list(path(".")), (std::vector<std::string>{"a"}));
}

// As two processes do that fill the same cache.
TEST_P(FileSystemTest, WritersOfOneFileDoNotMix) {
  write_atomically(files(), path("a"), [&](File& file) {
    file.append(bytes_of("long, "));
    write_atomically(files(), path("a"), [](File& other) { other.append(bytes_of("x")); });
    EXPECT_EQ(read_text(files(), path("a")), "x");
    file.append(bytes_of("longer"));
  });
  EXPECT_EQ(read_text(files(), path("a")), "long, longer");
  EXPECT_EQ(files().list(path(".")), (std::vector<std::string>{"a"}));
}

INSTANTIATE_TEST_SUITE_P(Files, FileSystemTest, ::testing::Values(true, false),
                         [](const auto& info) { return info.param ? "Real" : "Memory"; });

TEST(PosixFile, ADirectoryIsNotAFile) {
  const TempDir temp;
  EXPECT_EQ(message_of([&] { real_files().open(temp.path(), OpenMode::read); }),
            temp.path().string() +
                ": cannot open it: Is a directory; it is a directory: give the path of a file");
}

// Nobody writes to it, so opening it would not end.
TEST(PosixFile, APipeIsNotWaitedFor) {
  const TempDir temp;
  const Path pipe = temp / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(
      message_of([&] { real_files().open(pipe, OpenMode::read); }),
      pipe.string() + ": it is a pipe, which cannot be read from any place; save it to a file");
}

TEST(PosixFile, AFileInTheWorkingDirectoryCanBeWrittenAtomically) {
  const TempDir temp;
  const Path before = std::filesystem::current_path();
  std::filesystem::current_path(temp.path());
  write_atomically(real_files(), "a", [](File& file) { file.append(bytes_of("x")); });
  std::filesystem::current_path(before);
  EXPECT_EQ(read_text(real_files(), temp / "a"), "x");
}

TEST(PosixFile, WhatKilledWritersLeftIsRemoved) {
  const TempDir temp;
  for (const char* name : {"a.0123456789abcdef.tmp", "b.0123456789abcdef.tmp", "a.tmp", "a.1.tmp"})
    write_text(real_files(), temp / name, "half");
  write_atomically(real_files(), temp / "a", [](File& file) { file.append(bytes_of("x")); });
  EXPECT_EQ(real_files().list(temp.path()),
            (std::vector<std::string>{"a", "a.1.tmp", "a.tmp", "b.0123456789abcdef.tmp"}));
}

TEST(PosixFile, CloseReportsOnceAndMayBeRepeated) {
  const TempDir temp;
  const auto file = real_files().open(temp / "a", OpenMode::write);
  file->close();
  file->close();
  EXPECT_THROW(file->append(bytes_of("x")), FileError);
}

// How much of it is in the page cache.
int64_t cached_bytes(File& file) {
  const auto size = static_cast<size_t>(file.size());
  void* map = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.descriptor(), 0);
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages((size + page - 1) / page);
  EXPECT_EQ(::mincore(map, size, pages.data()), 0);
  ::munmap(map, size);
  const auto is_there = [](unsigned char there) { return (there & 1) != 0; };
  return std::ranges::count_if(pages, is_there) * static_cast<int64_t>(page);
}

// What a cgroup would count of a large file that is saved.
TEST(PosixFile, WhatIsWrittenDoesNotStayInMemory) {
  const TempDir temp;
  struct statfs status {};
  ASSERT_EQ(::statfs(temp.path().c_str(), &status), 0);
  if (status.f_type == TMPFS_MAGIC || status.f_type == OVERLAYFS_SUPER_MAGIC)
    GTEST_SKIP() << "no disk";
  const auto file = real_files().open(temp / "large", OpenMode::write);
  const std::string text(5'000'000, 'a');
  for (int64_t i = 0; i < 4; ++i) {
    file->write_at(bytes_of(text), i * std::ssize(text));
    EXPECT_LE(cached_bytes(*file), 3 << 20);
  }
  file->sync();
  EXPECT_EQ(cached_bytes(*file), 0);
  std::string end(3, '.');
  file->read_exactly_at(std::as_writable_bytes(std::span(end)), file->size() - 3);
  EXPECT_EQ(end, "aaa");
}

TEST(PosixFile, AFullDiskNamesTheFreeBytes) {
  if (::access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full here";
  const auto file = real_files().open("/dev/full", OpenMode::update);
  const std::string message = message_of([&] { file->append(bytes_of("x")); });
  EXPECT_TRUE(message.starts_with("/dev/full: cannot append 1 bytes: No space left on device; "))
      << message;
  EXPECT_TRUE(message.ends_with(" are free there: make room on that disk or choose another folder"))
      << message;
}

// A real disk of 64 KiB: the old file survives a write that does not fit, and nothing is left
// behind.
TEST(PosixFile, OnAFullDiskTheOldFileStays) {
  const TempDir temp;
  if (::mount("tmpfs", temp.path().c_str(), "tmpfs", 0, "size=64k") != 0) {
    GTEST_SKIP() << "may not mount a tmpfs";
  }
  const std::string large(128 << 10, 'x');
  const Path path = temp / "a";
  write_text(real_files(), path, "old");
  EXPECT_THROW(
      write_atomically(real_files(), path, [&](File& file) { file.append(bytes_of(large)); }),
      FileError);
  EXPECT_EQ(read_text(real_files(), path), "old");
  EXPECT_EQ(real_files().list(temp.path()), (std::vector<std::string>{"a"}));
  ::umount(temp.path().c_str());
}

}  // namespace
}  // namespace snug
