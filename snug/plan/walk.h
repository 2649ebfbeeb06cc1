// A sequence for tight limits, made in one walk over the program.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "snug/plan/unit_graph.h"

namespace snug {

// How a small forward pass is run. program: as the program has it. depth_first: each unit just
// before it is needed; what it needs and is there stays. frugal: the same, but what is missing is
// made first, and what is there may go for it and come back; it goes lowest, and takes longest.
enum class WalkOrder { program, depth_first, frugal };

// Runs the units of the program, each once, in their order and holds the limit at every step: where
// room is wanted, it drops the value that is cheapest to make again for its bytes and for the time
// until it is read; where a dropped value is wanted, it makes it again in one small forward pass
// from what is there. It goes lower than `recompute` by other means, but at a higher cost. Nothing:
// it found no way.
std::optional<std::vector<int>> walk(const UnitGraph& graph, const std::vector<int>& program,
                                     int64_t limit, WalkOrder order);

}  // namespace snug
