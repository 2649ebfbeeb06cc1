// Which values to drop and compute again so that a sequence fits.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "snug/plan/timeline.h"

namespace snug {

// quick: whether it can be done at all. full: cheaply, in about a tenth of a second for some
// thousand units. thorough: as cheaply as can be found in a second.
enum class Effort { quick, full, thorough };

// A sequence whose live bytes never exceed the limit, with as little computed again as could be
// found; nothing when none was found, which is no proof that there is none. Deterministic.
std::optional<std::vector<int>> recompute(const UnitGraph& graph, const std::vector<int>& sequence,
                                          int64_t limit, Effort effort);
// The same, with the work (positions and units looked at) taken from `work`; it ends when that is
// spent.
std::optional<std::vector<int>> recompute(const UnitGraph& graph, const std::vector<int>& sequence,
                                          int64_t limit, Effort effort, int64_t& work);
// The same from a sequence that is only a little above the limit; quicker, and near to it.
std::optional<std::vector<int>> tighten(const UnitGraph& graph, const std::vector<int>& sequence,
                                        int64_t limit, int64_t& work);
// A last try for some dozen units: from no sequence at all.
std::optional<std::vector<int>> recompute_in_any_order(const UnitGraph& graph, int64_t limit);
// What a search may cost.
int64_t search_work(const UnitGraph& graph, Effort effort);

}  // namespace snug
