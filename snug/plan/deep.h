// A last look for any sequence within a tight limit, for problems of some dozen units.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "snug/plan/unit_graph.h"

namespace snug {

struct DeepResult {
  // True: where there is no sequence, none exists. False: too large, or too many states.
  bool complete = false;
  std::optional<std::vector<int>> sequence;  // Whatever it costs.
};

// What a look may cost: about a second.
inline constexpr int64_t kDeepWork = 100'000'000;

// Any order of the units, any unit again at any time. Those states are followed first in which the
// most units have run, and the least is missing for the next. For up to 128 units and 256 values,
// all units pure and of the program; else nothing is known. The units that are looked at are
// taken from `work`.
DeepResult search_deeply(const UnitGraph& graph, int64_t limit, int64_t& work);

}  // namespace snug
