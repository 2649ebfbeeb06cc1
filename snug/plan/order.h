// Orders of the units that lower the peak and cost no time.
#pragma once

#include <vector>

#include "snug/plan/timeline.h"

namespace snug {

// Every unit once: the program's own order, or one of a few others when its peak is lower. Units
// that are not pure keep their places among all others.
std::vector<int> best_order(const UnitGraph& graph);

}  // namespace snug
