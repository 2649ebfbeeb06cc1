// The moment at which a unit runs for the first time.
#pragma once

#include <vector>

#include "snug/plan/timeline.h"

namespace snug {

struct Moment {
  int unit = 0;                    // That runs.
  std::vector<char> exists;        // By value: it has been made, or is given.
  std::vector<char> needed_after;  // By value: it exists and is read later, or needed at the end.
};

// In the order of the timeline.
Moment moment_at(const Timeline& timeline, int position);

// In any order: of what exists and is needed, only what every order agrees on.
Moment moment_of(const UnitGraph& graph, int unit);

// Bytes that are needed after the moment, beside what the unit itself reads and makes.
int64_t crossing_bytes(const UnitGraph& graph, const Moment& moment);

// What a unit needs for itself while it runs, overwrites taken wherever they are allowed.
int64_t working_bytes(const UnitGraph& graph, const Unit& unit);

}  // namespace snug
