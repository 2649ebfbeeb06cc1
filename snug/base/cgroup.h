// The memory control groups above this process.
#pragma once

#include <filesystem>
#include <vector>

#include "snug/base/memory.h"

namespace snug {

// One limit for each group that has one, the own group first, then its ancestors as far as the
// mount shows them, for cgroup v1 and v2. Page cache that is easily given up (inactive, or not
// mapped) does not count as used. `pid` is this process, as the files below `root` know it.
std::vector<MemoryLimit> cgroup_limits(const std::filesystem::path& root, int pid);

}  // namespace snug
