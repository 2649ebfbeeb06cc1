// Planning and compiling take memory themselves: what the budget and the machine leave for them.
#pragma once

#include <new>

#include "snug/base/error.h"
#include "snug/base/resident_limit.h"
#include "snug/train/budget.h"
#include "snug/train/stager.h"
#include "snug/train/step_graph.h"

namespace snug {

// Resident bytes that a process may come to while it plans and compiles. Without an end where it is
// not Snug's own.
struct Room {
  int64_t bytes = 0;
  bool is_machines = false;  // Set by the machine (a cgroup), which has less than the budget.

  bool is_full() const { return bytes < resident_limit::kNone && resident_now() >= bytes; }
};
Room room_of(const Budget& budget);
// For kernels: only as long as what comes after them finds room, too. Beyond that a plan does not
// fit, and a process that had compiled them all would have come near its budget, so that no smaller
// plan would be under its peak.
Room room_for_kernels(const Budget& budget, int64_t still_to_come);
// What the machine leaves alone.
Room room_of_machine();

// The machine has less memory than it takes to find out how the run fits: not even a trial can be
// made here.
class NoRoomError : public BudgetError {
 public:
  // A budget that would do, as far as it is known; 0: it is not.
  explicit NoRoomError(int64_t enough_bytes);
  int64_t enough_bytes() const { return enough_bytes_; }

 private:
  int64_t enough_bytes_;
};

[[noreturn]] void throw_no_room(const Room& room);

// Calls `plan`, which throws BudgetError where it takes more memory than there is room: NoRoomError
// where the machine, not the budget, is too small.
template <typename Plan>
auto planned_in_room(const Budget& budget, const Plan& plan) {
  const Room room = room_of(budget);
  try {
    const ResidentLimit limit(room.bytes);
    return plan();
  } catch (const std::bad_alloc&) {
    if (!budget.whole_process) throw;
  }
  throw_no_room(room);
}

// More than a step on these batches can take in arena, kernels and planning, without planning it.
int64_t most_bytes(const StepGraph& step, const Stager& batches);

}  // namespace snug
