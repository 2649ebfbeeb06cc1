// Taking back what was computed again without need.
#pragma once

#include <cstdint>
#include <vector>

#include "snug/plan/unit_graph.h"

namespace snug {

// The sequence without the executions that the limit does not ask for, the dearest of them first.
// Within the limit if the sequence is.
std::vector<int> without_waste(const UnitGraph& graph, std::vector<int> sequence, int64_t limit,
                               int64_t& work);

}  // namespace snug
