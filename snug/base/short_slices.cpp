#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "snug/base/threads.h"

namespace snug {
namespace {

// The kernel's, which glibc does not have everywhere.
struct SchedulingAttributes {
  uint32_t size = sizeof(SchedulingAttributes);
  uint32_t policy = 0;
  uint64_t flags = 0;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t runtime = 0;  // Of SCHED_OTHER: the slice, in nanoseconds.
  uint64_t deadline = 0;
  uint64_t period = 0;
};

constexpr uint64_t kSlice = 300'000;

}  // namespace

// What is refused, or not known to the kernel, changes nothing.
void ask_for_short_slices() {
  SchedulingAttributes attributes;
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0) != 0) return;
  if (attributes.policy != SCHED_OTHER) return;
  attributes.size = sizeof(attributes);
  attributes.runtime = kSlice;
  [[maybe_unused]] const long refused = syscall(SYS_sched_setattr, 0, &attributes, 0);
}

}  // namespace snug
