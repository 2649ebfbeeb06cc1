// Where every value of a step lives in the arena, and when.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "snug/plan/problem.h"

namespace snug {

inline constexpr int64_t kUnlimited = INT64_MAX;
// The spill file is written and read in whole pages, from and to whole pages of the arena.
inline constexpr int64_t kPageBytes = 4096;

inline int64_t whole_pages(int64_t bytes) {
  return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

// A stretch of the arena that holds one value for a stretch of the plan's steps. A value that is
// computed again has several buffers; two buffers share bytes when an output overwrites an input.
struct Buffer {
  int value = -1;
  int64_t offset = 0;
  int64_t bytes = 0;
  int first_step = 0;  // Written by this step, or there from the start (0, for a given value).
  int last_step = 0;   // Last read by this step; the number of steps when it is pinned.
  // In a stage with parts, a value that no other stage sees: offset counts from the start of the
  // lane's block, bytes are those of one part.
  bool local = false;
};

// One execution of a node.
struct PlanStep {
  int node = -1;
  std::vector<int> in, out;  // Buffers, in the order of the node's values.
  int64_t scratch_offset =
      0;  // From the start of the arena, or of the lane's block where the stage has parts.
};

// Adjacent steps [first_step, last_step) that run part by part. Lane l owns the bytes
// [lane_offset + l * lane_bytes, lane_offset + (l + 1) * lane_bytes) of the arena while the stage
// runs.
struct PlanStage {
  int first_step = 0, last_step = 0;
  int parts = 1;
  int lanes = 1;
  int64_t lane_offset = 0;
  int64_t lane_bytes = 0;
};

// The start or the end of writing a value to the spill file, or of reading it back. Its bytes stay
// where they are from the start of a write to its end, and are there from the end of a read on.
struct PlanTransfer {
  Transfer what = Transfer::none;
  int value = -1;
  int trip = 0;  // A number for each write and each read: its start and its end have the same.
  int64_t file_offset = 0;
  double ns = 0;       // That the disk is busy with it.
  double drag_ns = 0;  // That the computation beside it takes longer.
};

struct Plan {
  std::vector<Buffer> buffers;
  std::vector<PlanStep> steps;
  std::vector<PlanStage> stages;
  // In the order in which they run. Each is a node of the problem that the plan carries out, behind
  // the nodes of the program: see with_transfers.
  std::vector<PlanTransfer> transfers;
  int64_t file_bytes = 0;  // Of the spill file.
  int64_t arena_bytes = 0;
  // No placement of these buffers can be lower: the most bytes that live at one moment.
  int64_t max_live_bytes = 0;
  int64_t persistent_bytes = 0;
  // By the costs of the problem: of this plan; of the step as it runs best without a budget; and
  // what no plan within the budget beats, in the order of the program. 0: not worked out.
  double step_ns = 0, fastest_ns = 0, least_ns = 0;

  int64_t total_bytes() const { return arena_bytes + persistent_bytes; }
};

// Places everything within the budget (arena and persistent bytes together). Deterministic. Throws
// BudgetError, which names the largest values and the least budget that works, when it cannot.
Plan make_plan(const Problem& problem, int64_t budget_bytes);

// Throws InternalError if the plan does not carry out the problem: a node that is missing or reads
// a value that is not there, two living buffers that overlap, anything outside the arena. Shares no
// code with make_plan.
void validate(const Problem& problem, const Plan& plan);

// The plan as text: totals, bytes by kind, what lives at the peak, the largest first. A line that
// takes more than `memory_bytes` to find is left out.
std::string report(const Problem& problem, const Plan& plan, int64_t memory_bytes = kUnlimited);

}  // namespace snug
