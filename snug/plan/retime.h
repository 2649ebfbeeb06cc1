// The same executions at other times.
#pragma once

#include <vector>

#include "snug/plan/unit_graph.h"

namespace snug {

// The sequence, units of which may run more than once, in another order: every execution as early
// or as late as early_order and late_order would have it, each copy of a value for itself.
std::vector<int> retimed(const UnitGraph& graph, const std::vector<int>& sequence);

}  // namespace snug
