#include "snug/train/room.h"

#include <algorithm>

#include "snug/base/bytes.h"
#include "snug/base/memory.h"

namespace snug {
namespace {

// What the kernel keeps for the process grows meanwhile, and so does what is not looked at.
constexpr int64_t kSpare = 512_KiB;

}  // namespace

Room room_of_machine() {
  return {.bytes = resident_bytes() + available_memory().bytes() - 2 * kSpare, .is_machines = true};
}

Room room_of(const Budget& budget) { return room_for_kernels(budget, 0); }

Room room_for_kernels(const Budget& budget, int64_t still_to_come) {
  if (!budget.whole_process) return {.bytes = resident_limit::kNone};
  const Room machine = room_of_machine();
  const int64_t bytes = budget.room_bytes > 0 ? budget.room_bytes : budget.bytes;
  const Room own{.bytes = bytes - budget.kernel_bytes -
                          std::max(still_to_come, kForRest + kForFirstStep)};
  return own.bytes <= machine.bytes ? own : machine;
}

NoRoomError::NoRoomError(int64_t enough_bytes)
    : BudgetError("{} leaves too little memory to find out how it fits; try it where there is more",
                  available_memory().binding().name),
      enough_bytes_(enough_bytes) {}

void throw_no_room(const Room& room) {
  if (room.is_machines) throw NoRoomError(0);
  throw BudgetError("planning its step alone takes more than the budget; give more memory");
}

int64_t most_bytes(const StepGraph& step, const Stager& batches) {
  constexpr int64_t kOfANode = 64_KiB;
  const Graph& graph = *step.graph;
  const std::vector<int64_t> row_counts = batches.batch_rows();
  const int64_t rows = row_counts[0];
  const int64_t programs = std::ssize(row_counts) + (batches.spare_rows() > 0 ? 1 : 0);
  int64_t bytes = 0;
  for (int value = 0; value < graph.value_count(); ++value) {
    if (graph.source(value) != Graph::Source::variable)
      bytes += static_cast<int64_t>(graph.type(value).at(rows).bytes());
  }
  return bytes + programs * std::ssize(graph.nodes()) * kOfANode;
}

}  // namespace snug
