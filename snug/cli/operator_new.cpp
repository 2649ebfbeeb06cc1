// The program's operator new: the library's own, but that it keeps to a ResidentLimit.

#include <cstdint>
#include <cstdlib>
#include <new>

#include "snug/base/resident_limit.h"

namespace {

void* checked(void* block) {
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

}  // namespace

// Those of arrays, and those that do not throw, call these.
// NOLINTBEGIN(cppcoreguidelines-no-malloc)
void* operator new(size_t bytes) {
  if (bytes > PTRDIFF_MAX) throw std::bad_alloc();
  snug::expect_room(bytes);
  return checked(std::malloc(bytes == 0 ? 1 : bytes));
}

void* operator new(size_t bytes, std::align_val_t alignment) {
  const auto of = static_cast<size_t>(alignment);
  if (bytes > PTRDIFF_MAX - of) throw std::bad_alloc();
  snug::expect_room(bytes);
  return checked(std::aligned_alloc(of, (bytes + of - 1) / of * of));
}

void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, size_t /*bytes*/) noexcept { std::free(block); }
void operator delete(void* block, std::align_val_t /*alignment*/) noexcept { std::free(block); }
void operator delete(void* block, size_t /*bytes*/, std::align_val_t /*alignment*/) noexcept {
  std::free(block);
}
// NOLINTEND(cppcoreguidelines-no-malloc)
