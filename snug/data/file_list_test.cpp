#include "snug/data/file_list.h"

#include <gtest/gtest.h>

#include "snug/data/source_testing.h"
#include "snug/testing/memory_files.h"

namespace snug::testing {
namespace {

TEST(FileList, MatchesPatterns) {
  MemoryFiles files;
  files.create_directories("d");
  for (const char* name : {"d/b.csv", "d/a.csv", "d/c.txt", "d/.hidden.csv", "d/x[1].csv"}) {
    write_text(files, name, "");
  }
  const std::vector<Path> patterns = {"d/c.txt", "d/?.csv", "d/x[1].csv"};
  EXPECT_EQ(list_files(files, patterns),
            (std::vector<Path>{"d/c.txt", "d/a.csv", "d/b.csv", "d/x[1].csv"}));
  files.create_directories("d/e1");
  files.create_directories("d/e2/deep");
  for (const char* name : {"d/e1/a.csv", "d/e2/a.csv", "d/e2/deep/a.csv"})
    write_text(files, name, "");
  const std::vector<Path> folders = {"d/e*/a.csv", "d/e?/*/a*"};
  EXPECT_EQ(list_files(files, folders),
            (std::vector<Path>{"d/e1/a.csv", "d/e2/a.csv", "d/e2/deep/a.csv"}));
  const std::vector<Path> none = {"d/*.npy"};
  expect_within(message_of<FileError>([&] { list_files(files, none); }), "no file matches");
}

}  // namespace
}  // namespace snug::testing
