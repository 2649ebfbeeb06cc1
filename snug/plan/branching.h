// What whole values cost at one moment.
#pragma once

#include <cstdint>

#include "snug/plan/moment.h"

namespace snug {

// Like Instant::bound, but the largest values that a price would keep in part are kept or not: of
// both the better, and so on for `looks` pairs at most.
double branched_bound(const UnitGraph& graph, const Moment& moment, int64_t limit, int looks);

}  // namespace snug
