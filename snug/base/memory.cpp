#include "snug/base/memory.h"

#include <sys/prctl.h>

#include <algorithm>
#include <optional>

#include "snug/base/cgroup.h"
#include "snug/base/error.h"
#include "snug/base/proc.h"
#include "snug/base/threads.h"

namespace snug {
namespace {

namespace fs = std::filesystem;

int64_t own_status(std::string_view key) {
  return number_after(lines_of("/proc/self/status"), key).value_or(0);
}

// /proc/self/limits: "Max address space   <soft>   <hard>   bytes", with "unlimited" for none.
struct SoftLimit {
  bool is_told = false;
  std::optional<int64_t> bytes;  // Nullopt: unlimited.
};
SoftLimit soft_limit(const fs::path& root, std::string_view title) {
  for (const std::string& line : lines_of(root / "proc/self/limits")) {
    if (line.starts_with(title))
      return {true, number_after({"soft " + line.substr(title.size())}, "soft")};
  }
  return {};
}

// A thread's stack counts whole as soon as it starts, though little of it is ever touched: those of
// the cores, and some that read, write and save beside them.
int64_t stacks_to_come(const fs::path& root, const std::vector<std::string>& status) {
  constexpr int64_t kBeside = 3, kUnlimitedStack = int64_t{2} << 20;
  const SoftLimit stack = soft_limit(root, "Max stack size");
  if (!stack.is_told) return 0;
  const int64_t there = number_after(status, "Threads:").value_or(1);
  return std::max<int64_t>(0, hardware_threads() + kBeside - there) *
         stack.bytes.value_or(kUnlimitedStack);
}

void add_rlimit(AvailableMemory& memory, const fs::path& root, std::string_view name,
                std::string_view title, std::string_view used_key) {
  const SoftLimit limit = soft_limit(root, title);
  if (!limit.bytes) return;
  const std::vector<std::string> status = lines_of(root / "proc/self/status");
  memory.limits.push_back(
      {std::string(name), *limit.bytes,
       number_after(status, used_key).value_or(0) + stacks_to_come(root, status)});
}

}  // namespace

int64_t resident_bytes() { return own_status("VmRSS:"); }
int64_t data_bytes() { return own_status("VmData:"); }
int64_t peak_resident_bytes() { return own_status("VmHWM:"); }

int64_t kernel_bytes() {
  // A thread's stack in the kernel, and its other structures; measured as what a cgroup charges.
  constexpr int64_t kOfThread = 48 << 10, kOfProcess = 512 << 10;
  return own_status("VmPTE:") + own_status("Threads:") * kOfThread + kOfProcess;
}

void use_small_pages() {
  constexpr int kSetThpDisable = 41;           // PR_SET_THP_DISABLE
  constexpr unsigned long kExceptAdvised = 2;  // PR_THP_DISABLE_EXCEPT_ADVISED
  prctl(kSetThpDisable, 1UL, kExceptAdvised, 0UL, 0UL);
}

AvailableMemory available_memory(const fs::path& root) {
  const auto meminfo = lines_of(root / "proc/meminfo");
  const auto total = number_after(meminfo, "MemTotal:");
  const auto available = number_after(meminfo, "MemAvailable:");
  if (!total || !available) {
    throw Error(
        "available memory: {} does not say MemTotal and MemAvailable; mount /proc, without which "
        "no budget can be held",
        (root / "proc/meminfo").string());
  }
  const auto pid = number_after(lines_of(root / "proc/self/status"), "Pid:");

  AvailableMemory memory;
  memory.limits = cgroup_limits(root, static_cast<int>(pid.value_or(0)));
  add_rlimit(memory, root, "RLIMIT_AS", "Max address space", "VmSize:");
  add_rlimit(memory, root, "RLIMIT_DATA", "Max data size", "VmData:");
  memory.limits.push_back({"MemAvailable", *total, *total - *available});
  std::stable_sort(memory.limits.begin(), memory.limits.end(),
                   [](const auto& a, const auto& b) { return a.free_bytes() < b.free_bytes(); });
  return memory;
}

}  // namespace snug
