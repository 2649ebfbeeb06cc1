// A short stretch of a sequence, planned anew.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "snug/plan/timeline.h"

namespace snug {

// The same sequence with other executions from position `from` to `to` (not included): what runs
// there for the first time does so still, what lives at `to` is there still, and no more than the
// limit lives between. What is made again there takes less than `most_ns`. Nothing: none was found,
// or the stretch has more units and values than the search takes, or units that are not pure.
std::optional<std::vector<int>> replanned(const Timeline& timeline, int from, int to, int64_t limit,
                                          double most_ns, int64_t& work);

// What the sequence makes again between the positions, in ns.
double again_ns(const Timeline& timeline, int from, int to);

}  // namespace snug
