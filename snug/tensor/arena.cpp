#include "snug/tensor/arena.h"

#include <sys/mman.h>

#include <utility>

#include "snug/base/error.h"

namespace snug {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

}  // namespace

Arena::Arena(size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  void* block = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (block == MAP_FAILED) {
    throw BudgetError(
        "arena: the system refuses a block of {} bytes; lower `memory`, or raise the process's "
        "limits",
        bytes);
  }
  data_ = static_cast<std::byte*>(block);
  // A huge page at the ragged end would be resident beyond the plan: the kernel only uses whole
  // ones inside the block.
  madvise(block, bytes, bytes >= kHugePage ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

Arena::~Arena() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

Arena::Arena(Arena&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Arena& Arena::operator=(Arena&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

void Arena::touch() {
  if (data_ == nullptr) return;
#if defined(MADV_POPULATE_WRITE)
  if (madvise(data_, bytes_, MADV_POPULATE_WRITE) == 0) return;
#endif
  constexpr size_t kPage = 4096;
  for (size_t at = 0; at < bytes_; at += kPage) {
    volatile std::byte* byte = data_ + at;
    *byte = *byte;
  }
}

}  // namespace snug
