#include "snug/plan/schedule.h"

#include "snug/base/error.h"

namespace snug {

Schedule program_order(const Problem& problem) {
  Schedule schedule;
  for (int node = 0; node < static_cast<int>(problem.nodes.size()); ++node) {
    const int stage = problem.nodes[node].stage;
    SNUG_CHECK(stage >= 0 && stage < static_cast<int>(problem.stages.size()),
               "node {} is in stage {}", problem.nodes[node].name, stage);
    if (schedule.empty() || schedule.back().stage != stage) schedule.push_back({stage, {}});
    schedule.back().nodes.push_back(node);
  }
  return schedule;
}

}  // namespace snug
