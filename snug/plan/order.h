// Orders of the units that lower the peak and cost no time.
#pragma once

#include <vector>

#include "snug/plan/timeline.h"

namespace snug {

// Every unit once: the sequence, or one of a few other orders when its peak is lower. Units that
// are not pure keep their places among all others.
std::vector<int> best_order(const UnitGraph& graph, const std::vector<int>& sequence);

}  // namespace snug
