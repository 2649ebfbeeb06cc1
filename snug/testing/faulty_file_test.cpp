#include "snug/testing/faulty_file.h"

#include <gtest/gtest.h>

#include <set>

#include "snug/testing/memory_files.h"

namespace snug::testing {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

const std::string kNew = "the new text, which is longer than the old one";

void replace(FileSystem& files) {
  write_atomically(files, "a", [](File& file) {
    file.append(bytes_of(std::string_view(kNew).substr(0, 20)));
    file.append(bytes_of(std::string_view(kNew).substr(20)));
  });
}

int64_t calls_of_replace() {
  MemoryFiles disk;
  FaultyFiles files(disk);
  replace(files);
  return files.calls();
}

TEST(FaultyFiles, ReplacingTakesTheCallsItShould) {
  EXPECT_EQ(calls_of_replace(), 7);  // open, 2 appends, sync, close, rename, sync of the directory
}

TEST(FaultyFiles, AnErrorAtAnyCallLeavesTheOldFileOrTheNewOneAndNothingElse) {
  for (const Fault fault : {Fault::no_space, Fault::input_output}) {
    for (int64_t n = 1; n <= calls_of_replace(); ++n) {
      MemoryFiles disk;
      write_text(disk, "a", "old");
      FaultyFiles files(disk);
      files.fail_call(n, fault);
      EXPECT_THROW(replace(files), FileError) << n;
      EXPECT_EQ(read_text(disk, "a"), n < 7 ? "old" : kNew) << n;
      EXPECT_EQ(disk.list("."), (std::vector<std::string>{"a"})) << n;
    }
  }
}

TEST(FaultyFiles, ShortWritesAreContinued) {
  for (int64_t n = 1; n <= calls_of_replace(); ++n) {
    MemoryFiles disk;
    FaultyFiles files(disk);
    files.fail_call(n, Fault::short_write);
    replace(files);
    EXPECT_EQ(read_text(disk, "a"), kNew) << n;
  }
}

TEST(FaultyFiles, AFullDiskKeepsHalfOfTheWrite) {
  MemoryFiles disk;
  FaultyFiles files(disk);
  const auto file = files.open("a", OpenMode::write);
  files.fail_call(1, Fault::no_space);
  EXPECT_THROW(file->append(bytes_of("12345678")), FileError);
  EXPECT_EQ(read_text(disk, "a"), "1234");
}

TEST(FaultyFiles, AfterACrashTheOldFileOrTheNewOneIsThereWhole) {
  std::set<std::string> seen;
  for (int64_t n = 1; n <= calls_of_replace(); ++n) {
    for (uint64_t seed = 0; seed < 50; ++seed) {
      MemoryFiles disk;
      write_text(disk, "a", "old");
      FaultyFiles files(disk);
      files.fail_call(n, Fault::crash);
      EXPECT_THROW(replace(files), Crash);
      EXPECT_THROW(files.size("a"), Crash);
      const std::string text = read_text(*disk.after_crash(seed), "a");
      EXPECT_TRUE(text == "old" || text == kNew) << n << " " << seed << ": " << text;
      EXPECT_TRUE(n < 7 || text == kNew) << seed;
      seen.insert(text);
    }
  }
  EXPECT_EQ(seen.size(), 2u);
}

// The model is only worth something if it punishes a writer who forgets a sync.
TEST(FaultyFiles, ACrashShowsAWriterWhoForgetsToSync) {
  std::set<std::string> seen;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    MemoryFiles disk;
    write_text(disk, "a", "old");
    disk.open("a.tmp", OpenMode::write)->append(bytes_of("12345"));
    disk.rename("a.tmp", "a");
    disk.sync_directory(".");
    seen.insert(read_text(*disk.after_crash(seed), "a"));
  }
  EXPECT_EQ(seen, (std::set<std::string>{"", "1", "12", "123", "1234", "12345"}));
}

TEST(FaultyFiles, ACrashMayLoseANameThatWasNotSynced) {
  MemoryFiles disk;
  const auto file = disk.open("a", OpenMode::write);
  file->append(bytes_of("x"));
  file->sync();
  EXPECT_EQ(disk.after_crash(0)->size("a"), std::nullopt);
  EXPECT_EQ(disk.after_crash(1)->size("a"), 1);
  disk.sync_directory(".");
  EXPECT_EQ(disk.after_crash(0)->size("a"), 1);
}

TEST(FaultyFiles, ReadsFailOnlyWhenTheyAreCounted) {
  MemoryFiles disk;
  write_text(disk, "a", "text");
  FaultyFiles files(disk);
  files.fail_call(1, Fault::input_output);
  EXPECT_EQ(read_text(files, "a"), "text");
  files.set_count_reads(true);
  EXPECT_THROW(read_text(files, "a"), FileError);
}

}  // namespace
}  // namespace snug::testing
