// How much memory this process has, and how much it could still get.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace snug {

// Resident memory now (VmRSS) and at its peak (VmHWM), in bytes.
int64_t resident_bytes();
// The same from /proc/self/statm ("<size> <resident> ...", in pages), which is open: for who asks
// often. Allocates nothing; 0 where the system does not say.
int64_t resident_bytes(int statm);
int64_t peak_resident_bytes();
// What of the resident memory the process has allocated (RssAnon): heap, stacks and mappings, not
// pages of code and other files, which come when they are first used.
int64_t allocated_bytes();

// What the kernel keeps for this process and a memory cgroup charges beside its pages: page tables,
// stacks of its threads, and what it knows of files and mappings.
int64_t kernel_bytes();

// Keeps heap and stacks out of transparent huge pages, so that they are resident as far as they are
// used, also where the machine says `always`; what asks for huge pages (the arena) has them still.
// For a program that owns its process. Does nothing where the system cannot (before Linux 6.18).
void use_small_pages();

// One limit that the process stands under.
struct MemoryLimit {
  std::string name;  // "cgroup /sys/fs/cgroup/a/memory.max", "RLIMIT_AS", "MemAvailable"
  int64_t limit_bytes = 0;
  int64_t used_bytes = 0;  // What counts against it and cannot be reclaimed.

  int64_t free_bytes() const { return limit_bytes > used_bytes ? limit_bytes - used_bytes : 0; }
};

struct AvailableMemory {
  std::vector<MemoryLimit> limits;  // Not empty; the one that binds comes first.

  const MemoryLimit& binding() const { return limits.front(); }
  int64_t bytes() const { return binding().free_bytes(); }

  // The budget to take for what is still to be allocated when the user gives none: a tenth is left
  // to others.
  int64_t default_budget_bytes() const { return bytes() - bytes() / 10; }
};

// The least of limit less usage over all memory cgroups above this process (v1 and v2), its rlimits
// on address space and data, and the machine's MemAvailable. Files are read below `root`, which
// tests replace. Throws Error if /proc/meminfo cannot be read there.
AvailableMemory available_memory(const std::filesystem::path& root = "/");

}  // namespace snug
