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

// Which results may stand where an input stood. equal: those of its size, as a Timeline counts
// them. any: smaller ones too, whose place is then no larger than they are. No plan lives in less
// than that, so what is proven with it is proven; but a sequence may not be placed as low.
enum class Sharing { equal, any };

// Whether that makes a difference.
bool has_smaller_results(const UnitGraph& graph);

// Any order of the units, any unit again at any time. For up to 16 units and 64 values.
ExhaustiveResult search_exhaustively(const UnitGraph& graph, int64_t limit,
                                     Sharing sharing = Sharing::equal);

}  // namespace snug
