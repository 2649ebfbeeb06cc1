#include "snug/base/heap.h"

#include <malloc.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <thread>
#include <utility>

#include "snug/base/memory.h"
#include "snug/base/page_map.h"

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
  } catch (const std::system_error&) {
    free_all();  // The system has no more threads: they stay with this one.
  }
}

// The heap grows at its end only. 0: there is none.
uint64_t first_heap_page() {
  for (const Mapping& mapping : own_mappings()) {
    if (mapping.name == "[heap]") return mapping.first;
  }
  return 0;
}

}  // namespace

void release_free_heap() {
  release_small_blocks();
  malloc_trim(0);
}

int64_t resident_in_use() {
  // First, before anything is allocated here.
  const struct mallinfo2 heap = mallinfo2();
  static const uint64_t first = first_heap_page();
  if (heap.arena == 0 || first == 0) return resident_bytes();  // Another one, as of a sanitizer.
  const uint64_t end =
      (reinterpret_cast<uint64_t>(sbrk(0)) + kSystemPageBytes - 1) / kSystemPageBytes;
  int64_t bytes = resident_bytes() + static_cast<int64_t>(heap.uordblks);
  const bool is_told =
      visit_pages({.first = first, .end = end}, [&bytes](uint64_t, PageState state) {
        if (state != PageState::absent) bytes -= static_cast<int64_t>(kSystemPageBytes);
      });
  return is_told ? bytes : resident_bytes();
}

void forget_peak() {
  // Linux 4.0 and later; elsewhere the peak stays, which only makes a plan more careful.
  std::FILE* file = std::fopen("/proc/self/clear_refs", "w");
  if (file == nullptr) return;
  std::fputs("5", file);
  std::fclose(file);
}

}  // namespace snug
