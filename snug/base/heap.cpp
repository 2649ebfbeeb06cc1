#include "snug/base/heap.h"

#include <malloc.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <string>
#include <thread>
#include <utility>

#include "snug/base/memory.h"
#include "snug/base/proc.h"

#if defined(__SANITIZE_ADDRESS__)
#define SNUG_ADDRESS_SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SNUG_ADDRESS_SANITIZED
#endif
#endif
#ifdef SNUG_ADDRESS_SANITIZED
#include <sanitizer/allocator_interface.h>
#endif

namespace snug {
namespace {

// A thread keeps up to seven freed blocks of each small size for itself. They count as taken, and
// each one holds the page that it stands on. There is no call that lets go of them; but a thread
// that ends does: so all are taken, linked, and freed by one that ends at once.
void release_small_blocks() {
  constexpr size_t kLeast = 24, kMost = 1032, kStep = 16, kOfEachSize = 7;
  struct Link {
    Link* next;
  };
  Link* first = nullptr;
  for (size_t bytes = kLeast; bytes <= kMost; bytes += kStep) {
    for (size_t i = 0; i < kOfEachSize; ++i) {
      void* block = std::malloc(bytes);  // NOLINT(cppcoreguidelines-no-malloc)
      if (block != nullptr) first = new (block) Link{first};
    }
  }
  const auto free_all = [&first] {
    // NOLINTNEXTLINE(cppcoreguidelines-no-malloc)
    while (first != nullptr) std::free(std::exchange(first, first->next));
  };
  try {
    std::thread(free_all).join();
  } catch (const std::exception&) {
    free_all();  // The system has no thread or no memory for one: they stay with this one.
  }
}

// The address sanitizer keeps what is freed for a while; a budget would count all of it.
void release_quarantine() {
#ifdef SNUG_ADDRESS_SANITIZED
  __sanitizer_purge_allocator();
#endif
}

// /proc/self/smaps: "<begin>-<end> rw-p ... [heap]", and its "Rss: <number> kB" below.
int64_t resident_heap() {
  std::ifstream file("/proc/self/smaps");
  bool is_heap = false;
  for (std::string line; std::getline(file, line);) {
    is_heap = is_heap || line.ends_with("[heap]");
    if (is_heap && line.starts_with("Rss:")) return number_after({line}, "Rss:").value_or(0);
  }
  return 0;
}

}  // namespace

int64_t resident_in_use() {
  // First, before anything is allocated here.
  const struct mallinfo2 heap = mallinfo2();
  const int64_t resident = resident_bytes(), of_heap = resident_heap();
  if (heap.arena == 0 || of_heap == 0) return resident;  // Another heap, as of a sanitizer.
  return resident - of_heap + static_cast<int64_t>(heap.uordblks);
}

void release_free_heap() {
  release_small_blocks();
  malloc_trim(0);
  release_quarantine();
}

void release_large_free_heap() {
  constexpr size_t kLarge = 512 << 10;
  if (mallinfo2().fordblks >= kLarge) release_free_heap();
}

void use_one_heap() { mallopt(M_ARENA_MAX, 1); }

void forget_peak() {
  // Linux 4.0 and later; elsewhere the peak stays, which only makes a plan more careful.
  std::FILE* file = std::fopen("/proc/self/clear_refs", "w");
  if (file == nullptr) return;
  std::fputs("5", file);
  std::fclose(file);
}

}  // namespace snug
