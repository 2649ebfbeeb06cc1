// The checked mode of a program: what is freed becomes signalling NaNs, scratch stands between
// guards.

#include <algorithm>
#include <cstring>

#include "snug/base/error.h"
#include "snug/exec/bound.h"

namespace snug {
namespace {

constexpr uint32_t kSignallingNan = 0x7fa0dead;
constexpr size_t kGuardBytes = 256;

void fill(std::byte* begin, int64_t bytes) {
  for (int64_t at = 0; at + 4 <= bytes; at += 4) std::memcpy(begin + at, &kSignallingNan, 4);
}

bool is_filled(const std::byte* begin, size_t bytes) {
  for (size_t at = 0; at < bytes; at += 4) {
    if (std::memcmp(begin + at, &kSignallingNan, 4) != 0) return false;
  }
  return true;
}

}  // namespace

// Fills the buffers of one level (a lane's own, or the arena's) that have their last reader in this
// step, unless others have taken their place. Step -1 fills all that is not given, before anything
// runs.
void Program::fill_dead(int step, int lane, bool local) {
  const auto stage =
      std::ranges::find_if(plan_.stages, [&](const PlanStage& s) { return step < s.last_step; });
  const auto address = [&](const Buffer& buffer) {
    return arena_ + buffer.offset + (local ? stage->lane_offset + lane * stage->lane_bytes : 0);
  };
  const auto dead = [&](const Buffer& buffer) {
    if (step < 0) return !instance_.problem.values[buffer.value].given;
    return buffer.last_step == step;
  };
  const auto lives = [&](const Buffer& buffer) {
    if (step < 0) return instance_.problem.values[buffer.value].given;
    return buffer.first_step <= step && step < buffer.last_step;
  };
  for (const Buffer& buffer : plan_.buffers) {
    if (buffer.local != local || !dead(buffer)) continue;
    std::byte* begin = address(buffer);
    const bool taken = std::ranges::any_of(plan_.buffers, [&](const Buffer& other) {
      if (&other == &buffer || other.local != local || !lives(other)) return false;
      return address(other) < begin + buffer.bytes && begin < address(other) + other.bytes;
    });
    if (!taken) fill(begin, buffer.bytes);
  }
}

void Program::run_checked(const BoundStage& stage, const StepInfo& step) {
  for (int lane = 0; lane < stage.shape.lanes; ++lane) {
    const int begin = stage.first_part(lane), end = stage.first_part(lane + 1);
    for (int part = begin; part < end; ++part) {
      for (int node = stage.first; node < stage.last; ++node) {
        Bound& bound = *bound_[node];
        const ProblemNode& problem_node = instance_.problem.nodes[plan_.steps[node].node];
        const size_t bytes = (problem_node.scratch_bytes + 3) / 4 * 4;
        std::vector<std::byte> guarded(bytes + 2 * kGuardBytes + kAlignment);
        const size_t lead = kAlignment - reinterpret_cast<uintptr_t>(guarded.data()) % kAlignment;
        std::byte* front = guarded.data() + lead;
        fill(front, static_cast<int64_t>(bytes + 2 * kGuardBytes));
        std::byte* const scratch = bound.scratch;
        bound.scratch = front + kGuardBytes - lane * bound.scratch_lane_stride;
        run_node(bound, stage, lane, part, step);
        bound.scratch = scratch;
        SNUG_CHECK(
            is_filled(front, kGuardBytes) && is_filled(front + kGuardBytes + bytes, kGuardBytes),
            "{} wrote outside its {} bytes of scratch", problem_node.name,
            problem_node.scratch_bytes);
        fill_dead(node, lane, stage.shape.parts > 1);
      }
    }
  }
  if (stage.shape.lanes > 1) add_partials(stage);
  if (stage.shape.parts > 1) fill_dead(stage.last - 1, 0, false);
}

}  // namespace snug
