// What no plan can beat.
#pragma once

#include <cstdint>

#include "snug/plan/timeline.h"

namespace snug {

// No sequence in any order lives in fewer bytes: what one unit needs for itself with what must
// cross its first execution; or what it reads, or is needed at the end, with what the last of that
// is made from.
// What must cross is a minimum cut: what cannot be made again, or what it would be made from.
int64_t least_bytes(const UnitGraph& graph);

// The same where all else may wait in a file: what one unit needs for itself, or what is needed at
// the end.
int64_t least_bytes_beside_a_file(const UnitGraph& graph);

// The floor of one order of first executions: the largest working set of one unit with what must
// live beside it, that is, the values that nothing can make again and that are read later.
int64_t least_peak(const Timeline& timeline);

// No sequence in any order within the limit takes less time. At the first execution of a unit, the
// values that are there beside it fit the rest of the limit; all others that are read later must be
// made again, with all that they need and that is not there. The cheapest such choice, relaxed by a
// price for bytes, is a minimum cut; the bound is the best over some units, and over some rows of
// them: what must be made again between one and the next is paid for in each such window.
double least_cost_ns(const UnitGraph& graph, int64_t limit);

}  // namespace snug
