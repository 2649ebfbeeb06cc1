// Threads that prepare rows.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>

#include "snug/base/team.h"

namespace snug {

// The calling thread takes what the threads of the step leave.
inline void lower_priority() {
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 10);
  keep_off_the_team();
}

// What a plan counts for such a thread: its stack, and what malloc keeps for it.
inline constexpr size_t kThreadBytes = size_t{256} << 10;

}  // namespace snug
