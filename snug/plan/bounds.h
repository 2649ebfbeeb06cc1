// What no plan can beat, as long as the nodes run for the first time in the given order.
#pragma once

#include <cstdint>

#include "snug/plan/timeline.h"

namespace snug {

// No sequence lives in fewer bytes: some unit needs them for itself, together with the given values
// that are read later and the pinned values that are already made for good; or they are all needed
// at the end.
int64_t least_peak(const Timeline& timeline);

// No sequence within the limit takes less time. For an instant, the values that are there beside
// the running unit fit the rest of the limit; all others that are read later must be made again,
// with all that they need and that is not there. The cheapest such choice, relaxed by a price for
// bytes, is a minimum cut; the bound is the best over instants.
double least_cost_ns(const Timeline& timeline, int64_t limit);

}  // namespace snug
