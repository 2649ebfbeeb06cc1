// The truth about a small problem, found by trying everything. For tests: it is written against
// problem.h alone and shares nothing with the planner.
#pragma once

#include <cstdint>
#include <optional>

#include "snug/plan/problem.h"

namespace snug::testing {

struct Truth {
  // False: there were too many states; nothing is known.
  bool complete = false;
  // The least time of all sequences whose live bytes stay within the limit; nothing where there is
  // no such sequence.
  std::optional<double> least_ns;
};

// Any order of the nodes, any node again at any time. For problems of one stage without scratch and
// overwrites, with up to 32 nodes and 32 values.
Truth least_time(const Problem& problem, int64_t limit);

}  // namespace snug::testing
