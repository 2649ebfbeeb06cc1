// A limit on resident memory that allocations keep to.
#pragma once

#include <cstddef>
#include <cstdint>

namespace snug {

// While it lives, an allocation of this thread that would bring the process over so many resident
// bytes throws std::bad_alloc: where a memory cgroup would end the process, what was planned can
// still be refused. The smaller one holds within another. It is kept by operator new, where that
// calls expect_room(), as in the program `snug`; elsewhere, and where the system does not say what
// is resident, it does nothing.
class ResidentLimit {
 public:
  explicit ResidentLimit(int64_t bytes);
  ~ResidentLimit();
  ResidentLimit(const ResidentLimit&) = delete;
  ResidentLimit& operator=(const ResidentLimit&) = delete;

 private:
  int64_t outer_;
};

// While it lives, this thread has no limit: for code that must not be refused memory in its middle,
// such as a library's, which would take another way then, or kernels, which do not throw.
class WithoutResidentLimit {
 public:
  WithoutResidentLimit();
  ~WithoutResidentLimit();
  WithoutResidentLimit(const WithoutResidentLimit&) = delete;
  WithoutResidentLimit& operator=(const WithoutResidentLimit&) = delete;

 private:
  int64_t outer_;
};

// What is resident now, without an allocation, from a file that stays open: for a program that owns
// its process, where nobody else closes it.
int64_t resident_now();

namespace resident_limit {
inline constexpr int64_t kNone = INT64_MAX;
inline constexpr int64_t kUnseen = 64 << 10;  // Is allocated before it is looked again.
inline constinit thread_local int64_t limit = kNone, unseen = 0;
void look(int64_t bytes);
}  // namespace resident_limit

// Before so many bytes are allocated. Throws std::bad_alloc.
inline void expect_room(size_t bytes) {
  using namespace resident_limit;
  if (limit == kNone) return;
  unseen += static_cast<int64_t>(bytes);
  if (unseen >= kUnseen) look(static_cast<int64_t>(bytes));
}

}  // namespace snug
