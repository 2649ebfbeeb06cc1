#include "snug/base/file_lock.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "snug/testing/temp_dir.h"

namespace snug {
namespace {

TEST(FileLock, KeepsOthersOutAndNamesTheHolder) {
  const testing::TempDir folder;
  const auto lock = std::make_unique<FileLock>(folder.path());
  try {
    const FileLock second(folder.path());
    FAIL() << "two locks";
  } catch (const FileError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find(fmt::format("process {} is using", ::getpid())), std::string::npos) << text;
  }
}

TEST(FileLock, IsFreeAgainAfterwards) {
  const testing::TempDir folder;
  { const FileLock lock(folder.path()); }
  const FileLock again(folder.path());
}

TEST(FileLock, OfADeadProcessHindersNobody) {
  const testing::TempDir folder;
  const pid_t child = ::fork();
  if (child == 0) {
    const FileLock lock(folder.path());
    ::raise(SIGKILL);
  }
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(real_files().size(folder.path() / "lock"));
  const FileLock lock(folder.path());
}

}  // namespace
}  // namespace snug
