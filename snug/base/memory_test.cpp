#include "snug/base/memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <map>

#include "snug/base/bytes.h"
#include "snug/base/error.h"
#include "snug/base/proc.h"
#include "snug/testing/sanitized.h"
#include "snug/testing/temp_dir.h"

namespace snug {
namespace {

using testing::TempDir;

constexpr const char* kV1Mount =
    "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
    "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n";
constexpr const char* kV2Mount = "30 23 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n";
constexpr const char* kV1 = "sys/fs/cgroup/memory/";
constexpr const char* kV2 = "sys/fs/cgroup/";
constexpr int64_t kNone = 9223372036854771712;

// A machine of 16 GiB with 12 GiB free, without cgroups, as files.
class MemoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    write("proc/meminfo", "MemTotal: 16777216 kB\nMemFree: 1 kB\nMemAvailable: 12582912 kB\n");
    write("proc/self/status",
          "Name:\tsnug\nPid:\t77\nVmSize:\t1048576 kB\nVmData:\t524288 kB\nVmRSS:\t10240 kB\n");
    set_limits("unlimited", "unlimited");
  }

  void write(const std::string& name, const std::string& text) {
    const auto path = root_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }

  void set_limits(const std::string& data, const std::string& address_space) {
    write("proc/self/limits",
          "Limit                     Soft Limit           Hard Limit           Units     \n"
          "Max data size             " +
              data +
              "            unlimited            bytes     \n"
              "Max address space         " +
              address_space + "            unlimited            bytes     \n");
  }

  void set_v1(const std::string& group, int64_t limit, int64_t used, int64_t inactive,
              int64_t hierarchical) {
    const std::string folder = kV1 + group + "/";
    write(folder + "memory.limit_in_bytes", std::to_string(limit) + "\n");
    write(folder + "memory.usage_in_bytes", std::to_string(used) + "\n");
    write(folder + "memory.stat", "inactive_file 7\nhierarchical_memory_limit " +
                                      std::to_string(hierarchical) + "\ntotal_inactive_file " +
                                      std::to_string(inactive) + "\n");
  }

  void set_v2(const std::string& group, const std::string& max, const std::string& high,
              int64_t used, int64_t inactive) {
    const std::string folder = kV2 + group + "/";
    write(folder + "memory.max", max + "\n");
    write(folder + "memory.high", high + "\n");
    write(folder + "memory.current", std::to_string(used) + "\n");
    write(folder + "memory.stat", "anon 5\ninactive_file " + std::to_string(inactive) + "\n");
  }

  void expect_binding(const std::string& name, int64_t bytes) {
    const AvailableMemory memory = available_memory(root_.path());
    std::string found = memory.binding().name;
    if (const size_t at = found.find(root_.path().string()); at != std::string::npos) {
      found.erase(at, root_.path().string().size());
    }
    EXPECT_EQ(found, name);
    EXPECT_EQ(memory.bytes(), bytes);
  }

  TempDir root_;
};

TEST_F(MemoryTest, WithoutOtherLimitsTheMachineBinds) {
  expect_binding("MemAvailable", 12_GiB);
  const AvailableMemory memory = available_memory(root_.path());
  EXPECT_EQ(memory.limits.size(), 1u);
  EXPECT_EQ(memory.binding().limit_bytes, 16_GiB);
  EXPECT_EQ(memory.default_budget_bytes(), 12_GiB - 12_GiB / 10);
}

TEST_F(MemoryTest, RlimitsLeaveWhatIsNotUsed) {
  set_limits("unlimited", std::to_string(3_GiB));
  expect_binding("RLIMIT_AS", 2_GiB);
  set_limits(std::to_string(1_GiB), std::to_string(3_GiB));
  expect_binding("RLIMIT_DATA", 512_MiB);
  EXPECT_EQ(available_memory(root_.path()).limits.size(), 3u);
}

TEST_F(MemoryTest, ALimitThatIsUsedUpLeavesNothing) {
  set_limits("unlimited", std::to_string(512_MiB));
  expect_binding("RLIMIT_AS", 0);
}

TEST_F(MemoryTest, V1OwnGroupLessUsageWithoutInactivePageCache) {
  write("proc/self/mountinfo", kV1Mount);
  write("proc/self/cgroup", "9:name=systemd:/\n4:cpu,memory:/a/b\n0::/x\n");
  set_v1("a/b", 1_GiB, 600_MiB, 200_MiB, 1_GiB);
  set_v1("a", kNone, 2_GiB, 0, kNone);
  expect_binding("cgroup /sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", 624_MiB);
}

// Code is mapped and needed; a file that was read twice is neither.
TEST_F(MemoryTest, ActivePageCacheThatIsNotMappedIsGivenUp) {
  write("proc/self/mountinfo", kV1Mount);
  write("proc/self/cgroup", "4:memory:/a\n");
  set_v1("a", 1_GiB, 600_MiB, 0, 1_GiB);
  write(kV1 + std::string("a/memory.stat"),
        "total_inactive_file 10485760\ntotal_active_file 31457280\ntotal_mapped_file 20971520\n");
  expect_binding("cgroup /sys/fs/cgroup/memory/a/memory.limit_in_bytes", 444_MiB);
}

TEST_F(MemoryTest, V1AnAncestorBindsThroughItsOwnUsage) {
  write("proc/self/mountinfo", kV1Mount);
  write("proc/self/cgroup", "4:memory:/a/b\n");
  set_v1("a/b", 1_GiB, 100_MiB, 0, 1_GiB);
  set_v1("a", 2_GiB, 1900_MiB, 0, 2_GiB);
  expect_binding("cgroup /sys/fs/cgroup/memory/a/memory.limit_in_bytes", 148_MiB);
}

TEST_F(MemoryTest, V1ALimitAboveTheMountIsFoundInTheStatistics) {
  write("proc/self/mountinfo",
        "35 31 0:32 /docker/c1 /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  write("proc/self/cgroup", "4:memory:/docker/c1\n");
  set_v1("", kNone, 100_MiB, 20_MiB, 300_MiB);
  expect_binding("cgroup above /sys/fs/cgroup/memory (hierarchical_memory_limit)", 220_MiB);
}

TEST_F(MemoryTest, TheMountMayBeginBelowTheTop) {
  write("proc/self/mountinfo",
        "35 31 0:32 /docker/c1 /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  write("proc/self/cgroup", "4:memory:/docker/c1/job\n");
  set_v1("job", 400_MiB, 100_MiB, 0, 400_MiB);
  expect_binding("cgroup /sys/fs/cgroup/memory/job/memory.limit_in_bytes", 300_MiB);
}

TEST_F(MemoryTest, AMountOfAnotherGroupCountsFromItsPoint) {
  write("proc/self/mountinfo",
        "35 31 0:32 /docker/c1 /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  write("proc/self/cgroup", "4:memory:/docker/c10\n");
  set_v1("", 400_MiB, 100_MiB, 0, 400_MiB);
  expect_binding("cgroup /sys/fs/cgroup/memory/memory.limit_in_bytes", 300_MiB);
}

// After `unshare -C` the own group is called "/", and the mount begins two groups above it.
TEST_F(MemoryTest, AMountAboveTheNamespaceIsSearchedForThisProcess) {
  write("proc/self/mountinfo",
        "35 31 0:32 /../.. /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  write("proc/self/cgroup", "4:memory:/\n");
  set_v1("", kNone, 9_GiB, 0, kNone);
  set_v1("a/other", 5_MiB, 0, 0, 5_MiB);
  set_v1("a/mine", 900_MiB, 100_MiB, 0, 700_MiB);
  set_v1("a", 700_MiB, 150_MiB, 0, 700_MiB);
  write(std::string(kV1) + "a/other/cgroup.procs", "1\n");
  write(std::string(kV1) + "a/mine/cgroup.procs", "12\n77\n");
  expect_binding("cgroup /sys/fs/cgroup/memory/a/memory.limit_in_bytes", 550_MiB);
}

TEST_F(MemoryTest, V2TheLeastOverAllAncestors) {
  write("proc/self/mountinfo", kV2Mount);
  write("proc/self/cgroup", "0::/user/job\n");
  set_v2("user/job", "max", "max", 10_MiB, 0);
  expect_binding("MemAvailable", 12_GiB);
  set_v2("user", std::to_string(1_GiB), "max", 600_MiB, 100_MiB);
  expect_binding("cgroup /sys/fs/cgroup/user/memory.max", 524_MiB);
  set_v2("user/job", std::to_string(300_MiB), "max", 10_MiB, 0);
  expect_binding("cgroup /sys/fs/cgroup/user/job/memory.max", 290_MiB);
  set_v2("user/job", std::to_string(300_MiB), std::to_string(200_MiB), 10_MiB, 0);
  expect_binding("cgroup /sys/fs/cgroup/user/job/memory.high", 190_MiB);
}

TEST_F(MemoryTest, AGroupThatIsNotShownFallsBackToItsAncestor) {
  write("proc/self/mountinfo", kV2Mount);
  write("proc/self/cgroup", "0::/user/gone/job\n");
  set_v2("user", std::to_string(1_GiB), "max", 0, 0);
  expect_binding("cgroup /sys/fs/cgroup/user/memory.max", 1_GiB);
}

TEST_F(MemoryTest, BothVersionsAtOnce) {
  write("proc/self/mountinfo",
        std::string(kV1Mount) + "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  write("proc/self/cgroup", "4:memory:/a\n0::/b\n");
  set_v1("a", 2_GiB, 1_GiB, 0, 2_GiB);
  set_v2("unified/b", std::to_string(600_MiB), "max", 100_MiB, 0);
  expect_binding("cgroup /sys/fs/cgroup/unified/b/memory.max", 500_MiB);
  EXPECT_EQ(available_memory(root_.path()).limits.size(), 3u);
}

TEST_F(MemoryTest, WithoutProcTheUserIsAskedForABudget) {
  std::filesystem::remove_all(root_ / "proc");
  EXPECT_THROW(available_memory(root_.path()), Error);
}

TEST(Memory, TheRealMachineAnswers) {
  const AvailableMemory memory = available_memory();
  EXPECT_GT(memory.bytes(), 0);
  EXPECT_FALSE(memory.limits.empty());
  for (const MemoryLimit& limit : memory.limits) EXPECT_GE(limit.free_bytes(), memory.bytes());
}

TEST(Memory, ARealRlimitBinds) {
  if (testing::kSanitized) GTEST_SKIP() << "the sanitizer's own memory counts";
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  const rlimit tight{static_cast<rlim_t>(64_GiB), before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &tight), 0);
  const AvailableMemory memory = available_memory();
  setrlimit(RLIMIT_AS, &before);
  const auto found = std::find_if(memory.limits.begin(), memory.limits.end(),
                                  [](const auto& limit) { return limit.name == "RLIMIT_AS"; });
  ASSERT_NE(found, memory.limits.end());
  EXPECT_EQ(found->limit_bytes, 64_GiB);
  EXPECT_GT(found->used_bytes, 0);
}

TEST(Memory, ResidentBytesFollowTouchedPages) {
  const int64_t before = resident_bytes();
  {
    std::vector<char> touched(64_MiB, 1);
    volatile char* page = touched.data();  // Or the compiler leaves the vector out.
    for (int64_t i = 0; i < 64_MiB; i += 4096) page[i] = 2;
    EXPECT_GT(resident_bytes(), before + 60_MiB);
  }
  EXPECT_GE(peak_resident_bytes(), before + 60_MiB);
  const int64_t now = resident_bytes();  // Before the peak: reading the files may take a page.
  EXPECT_GE(peak_resident_bytes(), now);
}

TEST(AllocatedBytes, AreNotThoseOfFiles) {
  const TempDir folder;
  const std::filesystem::path path = folder.path() / "file";
  std::ofstream(path) << std::string(16_MiB, 'a');
  const int64_t resident = resident_bytes(), allocated = allocated_bytes();
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  void* const mapped =
      mmap(nullptr, 16_MiB, PROT_READ, MAP_SHARED | MAP_POPULATE, file, /*offset=*/0);
  close(file);
  ASSERT_NE(mapped, MAP_FAILED);
  EXPECT_GT(resident_bytes(), resident + 14_MiB);
  EXPECT_LT(allocated_bytes(), allocated + 2_MiB);
  munmap(mapped, 16_MiB);
  const std::vector<char> touched(16_MiB, 1);
  EXPECT_GT(allocated_bytes() + touched.front(), allocated + 14_MiB);
}

TEST(ResidentBytes, IsWhatTheSystemSays) {
  const int64_t said = number_after(lines_of("/proc/self/status"), "VmRSS:").value();
  EXPECT_NEAR(static_cast<double>(resident_bytes()), static_cast<double>(said), 2 << 20);
  EXPECT_EQ(resident_bytes(-1), 0);
}

}  // namespace
}  // namespace snug
