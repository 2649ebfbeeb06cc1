#include "snug/exec/disk_speed.h"

#include <gtest/gtest.h>

#include <cmath>

#include "snug/exec/spill_file.h"
#include "snug/testing/temp_dir.h"

namespace snug {
namespace {

using testing::TempDir;

TEST(DiskSpeed, IsMeasuredOnceAndKept) {
  const TempDir cache;
  const Path folder = spill_folder(real_files(), {});
  EXPECT_FALSE(stored_disk(real_files(), cache.path(), folder, 2));
  const DiskSpeed first = calibrated_disk(real_files(), cache.path(), folder, 2);
  EXPECT_GT(first.read, 0);
  EXPECT_GT(first.write, 0);
  const auto stored = stored_disk(real_files(), cache.path(), folder, 2);
  ASSERT_TRUE(stored);
  EXPECT_EQ(text_of(*stored), text_of(first));
  EXPECT_EQ(text_of(calibrated_disk(real_files(), cache.path(), folder, 2)), text_of(first));
}

TEST(DiskSpeed, ACacheThatCannotBeWrittenIsNoError) {
  const Path folder = spill_folder(real_files(), {});
  EXPECT_GT(calibrated_disk(real_files(), "/proc/none", folder, 2).read, 0);
}

TEST(DiskSpeed, TextIsReadBackOrRefused) {
  const DiskSpeed speed{.read = 1.25, .write = 2.5, .start_ns = 1e5, .drag = 0};
  ASSERT_TRUE(disk_in(text_of(speed)));
  EXPECT_EQ(disk_in(text_of(speed))->write, 2.5);
  EXPECT_EQ(disk_in(text_of(speed))->drag, 0);
  const auto with = [&](DiskSpeed changed) { return disk_in(text_of(changed)).has_value(); };
  EXPECT_FALSE(with({.read = 0, .write = 1}));
  EXPECT_FALSE(with({.read = 1, .write = NAN}));
  EXPECT_FALSE(with({.read = 1, .write = 1, .drag = -1}));
  EXPECT_FALSE(disk_in(""));
  std::string text = text_of(speed);
  EXPECT_FALSE(disk_in(text.substr(0, text.find("drag"))));
  EXPECT_FALSE(disk_in(text.replace(0, text.find('\n'), "version: 1")));
}

}  // namespace
}  // namespace snug
