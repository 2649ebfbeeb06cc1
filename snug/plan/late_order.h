// An order in which values are made no earlier than they must be.
#pragma once

#include <vector>

#include "snug/plan/unit_graph.h"

namespace snug {

// The sequence, each unit of which runs once, in another order: a unit whose results are no smaller
// than what has to stay longer for it moves to just before their first reader. At no moment does
// more live for it. Units that are not pure keep their places among all others.
std::vector<int> late_order(const UnitGraph& graph, const std::vector<int>& sequence);

}  // namespace snug
