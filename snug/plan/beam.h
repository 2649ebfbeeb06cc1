// A last look for a sequence within a tight limit, for problems of some dozen units.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "snug/plan/unit_graph.h"

namespace snug {

struct WideSearch {
  bool given_stays = true;    // What is given is there when the first unit runs.
  double most_ns = HUGE_VAL;  // For what runs again: less than this.
  int followed = 50'000;      // States in all; those of one number of units have equal shares.
};

// Any order of the units, any unit again at any time, like search_exhaustively; but of all states
// in which the same number of units has run, only the cheapest thousands are followed. Nothing:
// none of them led to the end, which proves nothing. For up to 128 units, all pure, and 256 values;
// else nothing.
std::optional<std::vector<int>> search_widely(const UnitGraph& graph, int64_t limit);
// The same; values and units that are looked at are taken from `work`.
std::optional<std::vector<int>> search_widely(const UnitGraph& graph, int64_t limit,
                                              const WideSearch& settings, int64_t& work);

}  // namespace snug
