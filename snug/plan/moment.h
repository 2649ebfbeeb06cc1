// The moment at which a unit runs for the first time.
#pragma once

#include <vector>

#include "snug/plan/timeline.h"

namespace snug {

struct Moment {
  int unit = 0;                    // That runs.
  std::vector<char> exists;        // By value: it has been made, or is given, or may have been.
  std::vector<char> needed_after;  // By value: it exists and is read later, or needed at the end.
  // By unit: whether it has run is not known. If not, it will, and that is nothing more to pay.
  std::vector<char> may_wait;

  // It is there later without being kept, if what it is made from is.
  bool can_be_made(const UnitGraph& graph, int value) const;
};

// In the order of the timeline.
Moment moment_at(const Timeline& timeline, int position);

// In any order: a unit has run, or is still to run, only where every order agrees on it.
// `waiting`, in order, run later too; none of them leads to the unit.
Moment moment_of(const UnitGraph& graph, int unit, const std::vector<int>& waiting = {});
// The same, but only what is read until another unit has run, which comes later in every order, is
// needed after it.
Moment moment_until(const UnitGraph& graph, int unit, int last);

// Whether each unit of the program runs before the given one in every order.
std::vector<char> units_before(const UnitGraph& graph, int unit);

// Bytes that are needed after the moment, beside what the unit itself reads and makes.
int64_t crossing_bytes(const UnitGraph& graph, const Moment& moment);

// What a unit needs for itself while it runs, overwrites taken wherever they are allowed.
int64_t working_bytes(const UnitGraph& graph, const Unit& unit);

}  // namespace snug
