// Which buffers a schedule needs, from when to when, and which of them may share one place.
#pragma once

#include <vector>

#include "snug/plan/packer.h"
#include "snug/plan/plan.h"
#include "snug/plan/schedule.h"

namespace snug {

// What is placed as one: a chain of buffers each of which overwrites the one before, the scratch of
// a step, or the lanes of a stage. The item's bytes are a multiple of the problem's alignment.
struct Block {
  Item item;
  std::vector<int> buffers;
  int scratch_step = -1;
  int lanes_stage = -1;
  bool paged = false;  // Stands on a page: its bytes leave room for that.
};

// Steps, buffers and stages as the plan has them, all but their offsets; and what has to be placed.
//
// Lifetimes are exact to the step, on two levels. In a stage with parts, the values that only that
// stage sees live in the lane's block, one part at a time, and their lifetimes are those of one
// lane. All other values that the stage touches are needed whole from its first step to its last,
// because its parts run side by side. A stage of one part has no lane block, and all its values
// live in the arena.
struct Lifetimes {
  std::vector<Buffer> buffers;
  std::vector<PlanStep> steps;
  std::vector<PlanStage> stages;
  std::vector<Block> arena;               // Without the lanes, whose bytes are not known yet.
  std::vector<std::vector<Block>> lanes;  // What one lane of each stage holds.
};

Lifetimes lifetimes(const Problem& problem, const Schedule& schedule);

// What a whole value takes in the arena; whole pages can be found in it if it is paged.
inline int64_t place_bytes(const Problem& problem, int64_t bytes, bool paged) {
  return paged && bytes > 0 ? whole_pages(bytes) + kPageBytes - problem.alignment
                            : problem.aligned(bytes);
}

}  // namespace snug
