// The best sequence of a small problem, by looking at all of them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "snug/plan/unit_graph.h"

namespace snug {

struct ExhaustiveResult {
  // False: too large, or too many states; nothing is known.
  bool complete = false;
  // The sequence of least cost within the limit; nothing when there is none, which is then proven.
  std::optional<std::vector<int>> sequence;
};

// Any order of the units, any unit again at any time. For up to 16 units and 64 values.
ExhaustiveResult search_exhaustively(const UnitGraph& graph, int64_t limit);

}  // namespace snug
