// The order in which a plan runs the nodes of a problem, some of them more than once.
#pragma once

#include <vector>

#include "snug/plan/problem.h"

namespace snug {

// Nodes that run together under the parts and lanes of one stage of the problem. Where the stage
// has one part they simply run one after the other.
struct StageRun {
  int stage = 0;
  std::vector<int> nodes;
};

using Schedule = std::vector<StageRun>;

// Every node once, stage by stage, as the problem lists them.
Schedule program_order(const Problem& problem);

}  // namespace snug
