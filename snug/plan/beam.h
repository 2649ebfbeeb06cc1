// A last look for a sequence within a tight limit, for problems of some dozen units.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "snug/plan/unit_graph.h"

namespace snug {

// Any order of the units, any unit again at any time, like search_exhaustively; but of all states
// in which the same number of units has run, only the cheapest thousands are followed. Nothing:
// none of them led to the end, which proves nothing. For up to 128 units, all pure, and 256 values;
// else nothing.
std::optional<std::vector<int>> search_widely(const UnitGraph& graph, int64_t limit);

}  // namespace snug
