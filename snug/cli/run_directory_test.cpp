#include "snug/cli/run_directory.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "snug/testing/temp_dir.h"

namespace snug::cli {
namespace {

TEST(RunDirectory, CountsOn) {
  const testing::TempDir temp;
  EXPECT_EQ(RunDirectory(temp / "runs", "a").path(), temp.path() / "runs/a/1");
  EXPECT_EQ(RunDirectory(temp / "runs", "a").path(), temp.path() / "runs/a/2");
  EXPECT_EQ(RunDirectory(temp / "runs", "b").path(), temp.path() / "runs/b/1");
  std::filesystem::create_directories(temp.path() / "runs/a/10");
  std::filesystem::create_directories(temp.path() / "runs/a/11-kept");
  EXPECT_EQ(RunDirectory(temp / "runs", "a").path(), temp.path() / "runs/a/11");
}

TEST(RunDirectory, Writes) {
  const testing::TempDir temp;
  const RunDirectory directory(temp.path(), "a");
  directory.write("report.txt", "one\n");
  directory.write("report.txt", "two\n");
  std::stringstream text;
  text << std::ifstream(directory.path() / "report.txt").rdbuf();
  EXPECT_EQ(text.str(), "two\n");
}

TEST(RunDirectory, RefusesAFileInItsPlace) {
  const testing::TempDir temp;
  std::ofstream(temp / "runs") << "a file";
  EXPECT_THROW(RunDirectory(temp / "runs", "a"), FileError);
}

}  // namespace
}  // namespace snug::cli
