// An order in which values are used up no later than they can be.
#pragma once

#include <vector>

#include "snug/plan/unit_graph.h"

namespace snug {

// The sequence, each unit of which runs once, in another order: a unit that is the last reader of
// more bytes than it makes moves to just behind what it waits for. Units that are not pure keep
// their places among all others.
std::vector<int> early_order(const UnitGraph& graph, const std::vector<int>& sequence);

}  // namespace snug
