#include "snug/base/memory.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "snug/base/cgroup.h"
#include "snug/base/error.h"
#include "snug/base/proc.h"

namespace snug {
namespace {

namespace fs = std::filesystem;

int64_t own_status(std::string_view key) {
  return number_after(lines_of("/proc/self/status"), key).value_or(0);
}

using Lines = std::vector<std::string>;

// /proc/self/limits: "Max address space   <soft>   <hard>   bytes", with "unlimited" for none.
struct Rlimit {
  const char *name, *title, *used_key;
};

void add_rlimit(AvailableMemory& memory, const Lines& limits, const Lines& status,
                const Rlimit& which) {
  for (const std::string& line : limits) {
    const std::string_view title = which.title;
    if (!line.starts_with(title)) continue;
    const auto limit = number_after({"soft " + line.substr(title.size())}, "soft");
    const auto used = number_after(status, which.used_key);
    if (limit) memory.limits.push_back({which.name, *limit, used.value_or(0)});
  }
}

}  // namespace

int64_t resident_bytes() {
  const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  const int64_t bytes = resident_bytes(file);
  if (file >= 0) close(file);
  return bytes;
}

int64_t resident_bytes(int statm) {
  static const int64_t page_bytes = sysconf(_SC_PAGESIZE);
  std::array<char, 128> text{};
  const ssize_t length = pread(statm, text.data(), text.size(), 0);
  const std::string_view all(text.data(), static_cast<size_t>(std::max<ssize_t>(0, length)));
  const size_t second = all.find(' ');
  if (second == std::string_view::npos) return 0;
  int64_t pages = 0;
  std::from_chars(all.data() + second + 1, all.data() + all.size(), pages);
  return pages * page_bytes;
}

int64_t peak_resident_bytes() { return own_status("VmHWM:"); }

int64_t allocated_bytes() { return own_status("RssAnon:"); }

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
        "available memory: {} does not say MemTotal and MemAvailable; mount /proc or give the "
        "budget yourself",
        (root / "proc/meminfo").string());
  }
  const Lines status = lines_of(root / "proc/self/status");
  const Lines limits = lines_of(root / "proc/self/limits");
  const auto pid = number_after(status, "Pid:");

  AvailableMemory memory;
  memory.limits = cgroup_limits(root, static_cast<int>(pid.value_or(0)));
  add_rlimit(memory, limits, status, {"RLIMIT_AS", "Max address space", "VmSize:"});
  add_rlimit(memory, limits, status, {"RLIMIT_DATA", "Max data size", "VmData:"});
  memory.limits.push_back({"MemAvailable", *total, *total - *available});
  std::stable_sort(memory.limits.begin(), memory.limits.end(),
                   [](const auto& a, const auto& b) { return a.free_bytes() < b.free_bytes(); });
  return memory;
}

}  // namespace snug
