// From a schedule to offsets.
#pragma once

#include "snug/plan/lifetimes.h"
#include "snug/plan/placement.h"
#include "snug/plan/plan.h"

namespace snug {

// Places what one lane of each stage holds, and adds the lanes of the stages to what the arena must
// hold.
void place_lanes(const Problem& problem, Lifetimes& lives);

// The most bytes that the schedule needs at one step, wherever they are placed.
int64_t live_bytes(const Problem& problem, const Schedule& schedule);

// The schedule as a plan.
Plan lay_out(const Problem& problem, const Schedule& schedule, int64_t capacity, Aim aim);

}  // namespace snug
