#include "snug/base/cgroup.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "snug/base/proc.h"

namespace snug {
namespace {

namespace fs = std::filesystem;

// v1 says "no limit" as the largest multiple of the page size below 2^63.
constexpr int64_t kNoLimit = INT64_MAX / 2;

struct Mount {
  bool is_v2 = false;
  std::string top;  // The group that the mount point shows, as the process's namespace names it.
  fs::path point;
};

// mountinfo: id parent device top point options [tags...] - type source options
std::vector<Mount> memory_mounts(const fs::path& root) {
  std::vector<Mount> mounts;
  for (const std::string& line : lines_of(root / "proc/self/mountinfo")) {
    const std::vector<std::string> words = words_of(line);
    const auto dash = std::find(words.begin(), words.end(), "-");
    if (words.size() < 6 || words.end() - dash < 4) continue;
    const std::string options = fmt::format(",{},", dash[3]);
    const bool is_v2 = dash[1] == "cgroup2";
    const bool is_v1 = dash[1] == "cgroup" && options.find(",memory,") != std::string::npos;
    if (is_v1 || is_v2) mounts.push_back({is_v2, words[3], root / words[4].substr(1)});
  }
  return mounts;
}

// /proc/self/cgroup: "4:cpu,memory:/path" in v1, "0::/path" in v2.
std::optional<std::string> own_group(const fs::path& root, bool is_v2) {
  for (const std::string& line : lines_of(root / "proc/self/cgroup")) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = fmt::format(",{},", line.substr(first + 1, second - first - 1));
    const bool found =
        is_v2 ? line.starts_with("0::") : controllers.find(",memory,") != std::string::npos;
    if (found) return line.substr(second + 1);
  }
  return std::nullopt;
}

// Splits "/../../a/b" into 2 and "a/b".
struct GroupPath {
  int ups = 0;
  std::string rest;
};
GroupPath split(std::string path) {
  GroupPath result;
  for (; path.starts_with("/.."); path.erase(0, 3)) ++result.ups;
  result.rest = path.empty() ? path : path.substr(1);
  return result;
}

bool holds(const fs::path& group, int pid) {
  const auto pids = lines_of(group / "cgroup.procs");
  return std::find(pids.begin(), pids.end(), std::to_string(pid)) != pids.end();
}

// The folder `rest` below some group `depth` levels under `group` that holds the process.
std::optional<fs::path> search(const fs::path& group, int depth, const std::string& rest, int pid) {
  if (depth == 0) {
    const fs::path own = rest.empty() ? group : group / rest;
    return holds(own, pid) ? std::optional(own) : std::nullopt;
  }
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(group, error)) {
    if (!entry.is_directory(error)) continue;
    if (auto found = search(entry.path(), depth - 1, rest, pid)) return found;
  }
  return std::nullopt;
}

// The folder of the own group, or the nearest ancestor of it that the mount shows.
fs::path own_folder(const Mount& mount, const std::string& group, int pid) {
  const GroupPath top = split(mount.top), own = split(group);
  if (top.ups > own.ups) {
    // After `unshare -C` the mount may begin above the namespace, and the names between are not
    // told: look for us.
    return search(mount.point, top.ups - own.ups, own.rest, pid).value_or(mount.point);
  }
  std::string rest = own.rest;
  if (!top.rest.empty()) {
    if (own.rest != top.rest && !own.rest.starts_with(top.rest + "/")) return mount.point;
    rest.erase(0, std::min(top.rest.size() + 1, rest.size()));
  }
  fs::path folder = rest.empty() ? mount.point : mount.point / rest;
  while (folder != mount.point && !fs::exists(folder)) folder = folder.parent_path();
  return folder;
}

// Page cache that nobody has mapped is given up when memory is needed.
int64_t unmapped_cache(const fs::path& group, const std::string& prefix, const char* mapped) {
  const auto stat = lines_of(group / "memory.stat");
  const auto bytes = [&](const std::string& key) {
    return number_after(stat, prefix + key).value_or(0);
  };
  const int64_t inactive = bytes("inactive_file");
  return std::max(inactive, inactive + bytes("active_file") - bytes(mapped));
}
int64_t unmapped_cache_v1(const fs::path& group) {
  return unmapped_cache(group, "total_", "mapped_file");
}

std::optional<MemoryLimit> limit_v1(const fs::path& group) {
  const auto limit = number_in(group / "memory.limit_in_bytes");
  if (!limit || *limit > kNoLimit) return std::nullopt;
  const int64_t used =
      number_in(group / "memory.usage_in_bytes").value_or(0) - unmapped_cache_v1(group);
  return MemoryLimit{"cgroup " + (group / "memory.limit_in_bytes").string(), *limit,
                     std::max<int64_t>(used, 0)};
}

// memory.high does not kill, but above it the kernel slows the group down until nothing moves.
std::optional<MemoryLimit> limit_v2(const fs::path& group) {
  const auto max = number_in(group / "memory.max"), high = number_in(group / "memory.high");
  if (!max && !high) return std::nullopt;
  const bool high_binds = high && (!max || *high < *max);
  const int64_t used =
      number_in(group / "memory.current").value_or(0) - unmapped_cache(group, "", "file_mapped");
  const char* file = high_binds ? "memory.high" : "memory.max";
  return MemoryLimit{"cgroup " + (group / file).string(), high_binds ? *high : *max,
                     std::max<int64_t>(used, 0)};
}

// An ancestor above the mount may limit us too. v1 tells its limit, but not its usage, which is at
// least that of the highest group we see.
std::optional<MemoryLimit> hidden_limit_v1(const Mount& mount, const fs::path& own,
                                           const std::vector<MemoryLimit>& seen) {
  const auto limit = number_after(lines_of(own / "memory.stat"), "hierarchical_memory_limit");
  if (!limit || *limit > kNoLimit) return std::nullopt;
  for (const MemoryLimit& other : seen) {
    if (other.limit_bytes <= *limit) return std::nullopt;
  }
  const int64_t used =
      number_in(mount.point / "memory.usage_in_bytes").value_or(0) - unmapped_cache_v1(mount.point);
  return MemoryLimit{"cgroup above " + mount.point.string() + " (hierarchical_memory_limit)",
                     *limit, std::max<int64_t>(used, 0)};
}

}  // namespace

std::vector<MemoryLimit> cgroup_limits(const fs::path& root, int pid) {
  std::vector<MemoryLimit> limits;
  for (const Mount& mount : memory_mounts(root)) {
    const auto group = own_group(root, mount.is_v2);
    if (!group) continue;
    const fs::path own = own_folder(mount, *group, pid);
    std::vector<MemoryLimit> seen;
    for (fs::path folder = own;; folder = folder.parent_path()) {
      if (auto limit = mount.is_v2 ? limit_v2(folder) : limit_v1(folder)) seen.push_back(*limit);
      if (folder == mount.point || !folder.has_relative_path()) break;
    }
    if (!mount.is_v2) {
      if (auto hidden = hidden_limit_v1(mount, own, seen)) seen.push_back(*hidden);
    }
    limits.insert(limits.end(), seen.begin(), seen.end());
  }
  return limits;
}

}  // namespace snug
