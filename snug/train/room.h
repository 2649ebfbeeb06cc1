// Planning and compiling take memory themselves: what a limit of the system leaves for them.
#pragma once

#include <sys/resource.h>

#include <functional>
#include <new>
#include <optional>

#include "snug/base/error.h"

namespace snug {

// While it lives, memory that the system would not give is not taken: an allocation that passes
// what is left throws std::bad_alloc, where the system would end the process. For a program that
// owns its process, while one thread of it allocates.
class RoomScope {
 public:
  // Does nothing unless it is `watched`, nor where much is left.
  explicit RoomScope(bool watched);
  ~RoomScope();
  RoomScope(const RoomScope&) = delete;
  RoomScope& operator=(const RoomScope&) = delete;

 private:
  std::optional<rlimit> before_;  // Nothing: it was not changed.
};

// Calls `plan` in a scope, and throws BudgetError where that is not enough.
template <typename Plan>
auto planned_in_room(bool watched, const Plan& plan) {
  const RoomScope room(watched);
  try {
    return plan();
  } catch (const std::bad_alloc&) {
    if (!watched) throw;
  }
  throw BudgetError("fit: the system leaves too little memory to plan in");
}

// To be called before each kernel is compiled, which takes some ten KiB outside of our own code:
// throws BudgetError where little is left. Empty where much is, or it is not `watched`.
std::function<void()> watched_room(bool watched);

}  // namespace snug
