// A sequence as a program of its own.
#pragma once

#include <vector>

#include "snug/plan/unit_graph.h"

namespace snug {

// Each execution as a unit that runs once, in the order of the sequence, each copy of a value as a
// value of its own.
UnitGraph executions_of(const UnitGraph& graph, const std::vector<int>& sequence);

}  // namespace snug
