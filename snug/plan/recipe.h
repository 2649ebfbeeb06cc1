// A plan in few bytes: what it runs, without where everything stands.
#pragma once

#include <cstdint>
#include <vector>

#include "snug/plan/plan.h"

namespace snug {

// Enough to make the plan again, at the capacity that it was made for: it is placed once more.
struct Recipe {
  std::vector<int> nodes;  // Of the steps, in order,
  std::vector<int> ends;   // and the step before which each stage ends.
  std::vector<PlanTransfer> transfers;
  int64_t file_bytes = 0;
  int64_t capacity = 0, arena_bytes = 0;
};

Recipe recipe_of(const Plan& plan, int64_t capacity);
// The problem is that of the program alone.
Plan plan_of(const Problem& problem, const Recipe& recipe);

}  // namespace snug
