// Stands between the program and glibc's heap.

#include "tests/engine/allocation_counter.h"

#include <atomic>
#include <cerrno>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SNUG_COUNTS_ALLOCATIONS 0
#elif defined(__has_feature)
#define SNUG_COUNTS_ALLOCATIONS \
  (!__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer))
#else
#define SNUG_COUNTS_ALLOCATIONS 1
#endif

namespace snug::testing {
namespace {

std::atomic<bool> counting{false};
std::atomic<int64_t> count{0}, bytes{0};

[[maybe_unused]] void note(size_t size) {
  if (!counting.load(std::memory_order_relaxed)) return;
  count.fetch_add(1, std::memory_order_relaxed);
  bytes.fetch_add(static_cast<int64_t>(size), std::memory_order_relaxed);
}

}  // namespace

bool allocations_are_counted() { return SNUG_COUNTS_ALLOCATIONS; }

void start_counting_allocations() {
  count = 0;
  bytes = 0;
  counting = true;
}

Allocations stop_counting_allocations() {
  counting = false;
  return {count, bytes};
}

}  // namespace snug::testing

#if SNUG_COUNTS_ALLOCATIONS
extern "C" {

void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* block, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

void* malloc(size_t size) {
  snug::testing::note(size);
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  snug::testing::note(count * size);
  return __libc_calloc(count, size);
}
void* realloc(void* block, size_t size) {
  snug::testing::note(size);
  return __libc_realloc(block, size);
}
void* memalign(size_t alignment, size_t size) {
  snug::testing::note(size);
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  snug::testing::note(size);
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** block, size_t alignment, size_t size) {
  snug::testing::note(size);
  *block = __libc_memalign(alignment, size);
  return *block != nullptr ? 0 : ENOMEM;
}

}  // extern "C"
#endif
