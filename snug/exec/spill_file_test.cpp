#include "snug/exec/spill_file.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "snug/base/bytes.h"
#include "snug/testing/faulty_file.h"
#include "snug/testing/memory_files.h"
#include "snug/testing/temp_dir.h"

namespace snug {
namespace {

using testing::Fault;
using testing::FaultyFiles;
using testing::MemoryFiles;
using testing::TempDir;

std::string refusal(FileSystem& files, const Path& folder, int64_t bytes) {
  try {
    SpillFile(files, folder, bytes);
  } catch (const FileError& error) {
    return error.what();
  }
  return "";
}

TEST(SpillFile, HasNoName) {
  const TempDir folder;
  const SpillFile file(real_files(), folder.path(), 1_MiB);
  EXPECT_TRUE(real_files().list(folder.path()).empty());
}

// kill -9 leaves nothing behind.
TEST(SpillFile, IsGoneWithItsProcess) {
  const TempDir folder;
  const pid_t child = ::fork();
  if (child == 0) {
    const auto file = real_files().open(folder.path(), OpenMode::scratch);
    file->allocate(1_MiB);
    ::raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_TRUE(real_files().list(folder.path()).empty());
}

TEST(SpillFile, TakesItsBytesOfTheDiskAtOnce) {
  const TempDir folder;
  const auto file = real_files().open(folder.path(), OpenMode::scratch);
  file->allocate(3_MiB);
  EXPECT_EQ(file->size(), 3_MiB);
}

TEST(SpillFile, AFullDiskIsFoundBeforeTheFirstStep) {
  const TempDir folder;
  const std::string text = refusal(real_files(), folder.path(), int64_t{1} << 50);
  EXPECT_NE(text.find("spill: the step needs a file of"), std::string::npos) << text;
  EXPECT_NE(text.find("are free there"), std::string::npos) << text;
  EXPECT_NE(text.find("`spill: FOLDER`"), std::string::npos) << text;
  MemoryFiles memory;
  FaultyFiles files(memory);
  files.fail_call(2, Fault::no_space);
  EXPECT_NE(refusal(files, "folder", 1_MiB).find("No space left"), std::string::npos);
}

TEST(SpillFile, AFolderInMemoryIsNoDisk) {
  if (!std::filesystem::exists("/dev/shm")) GTEST_SKIP() << "no tmpfs here";
  const std::string text = refusal(real_files(), "/dev/shm", 1_MiB);
  EXPECT_NE(text.find("in memory"), std::string::npos) << text;
}

TEST(SpillFile, AFolderThatIsNotThereIsNamed) {
  EXPECT_NE(refusal(real_files(), "/no/such/folder", 1_MiB).find("/no/such/folder"),
            std::string::npos);
  EXPECT_THROW(spill_folder(real_files(), "/no/such/folder"), FileError);
}

TEST(SpillFile, AnUnusableTemporaryFolderIsPassedBy) {
  const char* before = std::getenv("TMPDIR");
  const std::string saved = before == nullptr ? "" : before;
  ::setenv("TMPDIR", "/no/such/folder", 1);
  EXPECT_NE(spill_folder(real_files(), {}), Path("/no/such/folder"));
  before == nullptr ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", saved.c_str(), 1);
}

}  // namespace
}  // namespace snug
