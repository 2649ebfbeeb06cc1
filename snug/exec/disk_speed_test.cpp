#include "snug/exec/disk_speed.h"

#include <gtest/gtest.h>

#include "snug/exec/spill_file.h"
#include "snug/testing/temp_dir.h"

namespace snug {
namespace {

using testing::TempDir;

TEST(DiskSpeed, IsMeasuredOnceAndKept) {
  const TempDir cache;
  const Path folder = spill_folder(real_files(), {});
  EXPECT_FALSE(stored_disk(real_files(), cache.path(), folder));
  const DiskSpeed first = calibrated_disk(real_files(), cache.path(), folder);
  EXPECT_GT(first.read, 0);
  EXPECT_GT(first.write, 0);
  const auto stored = stored_disk(real_files(), cache.path(), folder);
  ASSERT_TRUE(stored);
  EXPECT_EQ(text_of(*stored), text_of(first));
  EXPECT_EQ(text_of(calibrated_disk(real_files(), cache.path(), folder)), text_of(first));
}

TEST(DiskSpeed, ACacheThatCannotBeWrittenIsNoError) {
  const Path folder = spill_folder(real_files(), {});
  EXPECT_GT(calibrated_disk(real_files(), "/proc/none", folder).read, 0);
}

TEST(DiskSpeed, TextIsReadBackOrRefused) {
  const DiskSpeed speed{.read = 1.25, .write = 2.5, .start_ns = 1e5};
  ASSERT_TRUE(disk_in(text_of(speed)));
  EXPECT_EQ(disk_in(text_of(speed))->write, 2.5);
  EXPECT_FALSE(disk_in(""));
  EXPECT_FALSE(disk_in("version: 2\nread: 0\nwrite: 1\nstart_ns: 1\n"));
  EXPECT_FALSE(disk_in("version: 2\nread: 1\nwrite: nan\nstart_ns: 1\n"));
  EXPECT_FALSE(disk_in("version: 9\nread: 1\nwrite: 1\nstart_ns: 1\n"));
}

}  // namespace
}  // namespace snug
