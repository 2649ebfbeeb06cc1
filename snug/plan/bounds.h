// What no plan can beat; where a timeline is given, as long as the units run for the first time in
// its order.
#pragma once

#include <cstdint>

#include "snug/plan/timeline.h"

namespace snug {

// No sequence in any order lives in fewer bytes: what one unit needs for itself with the given
// values that are never freed, or what is needed at the end.
int64_t least_bytes(const UnitGraph& graph);

// The same for this order of first executions, and therefore higher: beside the unit live the
// values that nothing can make again and that are read later.
int64_t least_peak(const Timeline& timeline);

// No sequence within the limit takes less time. For an instant, the values that are there beside
// the running unit fit the rest of the limit; all others that are read later must be made again,
// with all that they need and that is not there. The cheapest such choice, relaxed by a price for
// bytes, is a minimum cut; the bound is the best over instants.
double least_cost_ns(const Timeline& timeline, int64_t limit);

}  // namespace snug
