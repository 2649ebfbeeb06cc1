// Stages that need fewer bytes at once, for budgets in which what a stage touches has no room.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "snug/plan/partition.h"

namespace snug {

// Cuts the stages that run in parts, in the order of their nodes, into stages of the same parts and
// lanes: sums are added up as before, so the bits are the same. What passes from one to the next
// exists whole, which takes time. Of the cuts that bring the bytes which a stage touches at once
// down (to a third of what the widest stage touches, or as far as any cut does) each stage gets the
// one that passes on least.
std::vector<StageChoice> narrowed(const Graph& graph, std::span<const Value> results, int64_t rows,
                                  const std::vector<StageChoice>& stages);

}  // namespace snug
