// From a schedule to offsets.
#pragma once

#include "snug/plan/lifetimes.h"
#include "snug/plan/plan.h"

namespace snug {

// Places what one lane of each stage holds, and adds the lanes of the stages to what the arena must
// hold.
void place_lanes(Lifetimes& lives);

// The schedule as a plan, as low as can be found; works hardest when that is above the capacity.
Plan lay_out(const Problem& problem, const Schedule& schedule, int64_t capacity);

}  // namespace snug
