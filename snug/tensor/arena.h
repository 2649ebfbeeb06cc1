#pragma once

#include <cstddef>

namespace snug {

// One block of memory, straight from the system and given back to it whole. Aligned to a page,
// zero-filled, with huge pages asked for where that saves page faults without adding resident
// bytes. Throws BudgetError when the system has no such block.
class Arena {
 public:
  Arena() = default;
  explicit Arena(size_t bytes);
  ~Arena();
  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&& other) noexcept;

  std::byte* data() const { return data_; }
  size_t bytes() const { return bytes_; }

  // Makes every page resident now, so that no later page fault can fail.
  void touch();

 private:
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace snug
