#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "snug/base/error.h"
#include "snug/plan/bytes_text.h"
#include "snug/plan/lifetimes.h"
#include "snug/plan/placement.h"
#include "snug/plan/plan.h"

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
    const int64_t offset = placement.offsets[i];
    for (const int buffer : block.buffers) lives.buffers[buffer].offset = offset;
    if (block.scratch_step >= 0) lives.steps[block.scratch_step].scratch_offset = offset;
    if (block.lanes_stage >= 0) lives.stages[block.lanes_stage].lane_offset = offset;
  }
}

// Places what one lane of each stage holds, and adds the stage's lanes to what the arena must hold.
void place_lanes(Lifetimes& lives) {
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
    stage.lane_bytes = aligned(placement.height);
    lives.arena.push_back(
        {.item = {stage.first_step, stage.last_step - 1, stage.lanes * stage.lane_bytes},
         .lanes_stage = s});
  }
}

Plan place_all(const Problem& problem, Lifetimes lives, int64_t capacity) {
  place_lanes(lives);
  const std::vector<Item> items = items_of(lives.arena);
  const Placement placement = place(items, capacity);
  set_offsets(lives.arena, placement, lives);
  return {.buffers = std::move(lives.buffers),
          .steps = std::move(lives.steps),
          .stages = std::move(lives.stages),
          .arena_bytes = placement.height,
          .max_live_bytes = max_live(items),
          .persistent_bytes = problem.persistent_bytes};
}

std::string largest_values(const Problem& problem) {
  std::vector<int> order(problem.values.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return problem.values[a].bytes > problem.values[b].bytes; });
  std::string text;
  for (size_t i = 0; i < std::min<size_t>(3, order.size()); ++i) {
    const ProblemValue& value = problem.values[order[i]];
    text += fmt::format("{}{} ({})", i ? ", " : "", value.name, bytes_text(value.bytes));
  }
  return text.empty() ? "no values" : text;
}

[[noreturn]] void refuse(const Problem& problem, const Plan& plan, int64_t budget_bytes) {
  throw BudgetError(
      "plan: the step needs {} bytes (arena {} + persistent {}), but the budget is {}; largest: "
      "{}; the least budget that works is {} bytes ({}): give at least that, or lower the batch "
      "size",
      plan.total_bytes(), plan.arena_bytes, plan.persistent_bytes, budget_bytes,
      largest_values(problem), plan.total_bytes(), bytes_text(plan.total_bytes()));
}

}  // namespace

Plan make_plan(const Problem& problem, int64_t budget_bytes) {
  const int64_t capacity = budget_bytes - problem.persistent_bytes;
  Plan plan = place_all(problem, lifetimes(problem, program_order(problem)), capacity);
  if (plan.arena_bytes > capacity) refuse(problem, plan, budget_bytes);
  return plan;
}

}  // namespace snug
