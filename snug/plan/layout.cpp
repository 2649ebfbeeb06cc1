#include "snug/plan/layout.h"

namespace snug {
namespace {

std::vector<Item> items_of(const std::vector<Block>& blocks) {
  std::vector<Item> items;
  items.reserve(blocks.size());
  for (const Block& block : blocks) items.push_back(block.item);
  return items;
}

// Hands the offsets of the blocks to the buffers, scratches and lanes that they stand for.
void set_offsets(const std::vector<Block>& blocks, const Placement& placement, Lifetimes& lives) {
  for (size_t i = 0; i < blocks.size(); ++i) {
    const Block& block = blocks[i];
    const int64_t offset = block.paged ? whole_pages(placement.offsets[i]) : placement.offsets[i];
    for (const int buffer : block.buffers) lives.buffers[buffer].offset = offset;
    if (block.scratch_step >= 0) lives.steps[block.scratch_step].scratch_offset = offset;
    if (block.lanes_stage >= 0) lives.stages[block.lanes_stage].lane_offset = offset;
  }
}

}  // namespace

void place_lanes(const Problem& problem, Lifetimes& lives) {
  for (int s = 0; s < static_cast<int>(lives.stages.size()); ++s) {
    if (lives.lanes[s].empty()) continue;
    PlanStage& stage = lives.stages[s];
    std::vector<Item> items = items_of(lives.lanes[s]);
    for (Item& item : items) {
      item.first -= stage.first_step;
      item.last -= stage.first_step;
    }
    const Placement placement = place(items, kUnlimited);
    set_offsets(lives.lanes[s], placement, lives);
    stage.lane_bytes = problem.aligned(placement.height);
    lives.arena.push_back(
        {.item = {stage.first_step, stage.last_step - 1, stage.lanes * stage.lane_bytes},
         .lanes_stage = s});
  }
}

int64_t live_bytes(const Problem& problem, const Schedule& schedule) {
  Lifetimes lives = lifetimes(problem, schedule);
  place_lanes(problem, lives);
  return max_live(items_of(lives.arena));
}

Plan lay_out(const Problem& problem, const Schedule& schedule, int64_t capacity, Aim aim) {
  Lifetimes lives = lifetimes(problem, schedule);
  place_lanes(problem, lives);
  const std::vector<Item> items = items_of(lives.arena);
  const Placement placement = place(items, capacity, aim);
  set_offsets(lives.arena, placement, lives);
  return {.buffers = std::move(lives.buffers),
          .steps = std::move(lives.steps),
          .stages = std::move(lives.stages),
          .arena_bytes = placement.height,
          .max_live_bytes = max_live(items),
          .persistent_bytes = problem.persistent_bytes};
}

}  // namespace snug
