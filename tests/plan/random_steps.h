// Random problems as other people's programs would dump them: one stage, no scratch, no overwrites.
#pragma once

#include <cstdint>

#include "snug/plan/problem.h"

namespace snug::testing {

// A forward chain or DAG of `layers` nodes, and its backward pass: each node's gradient reads what
// the node read or what it made, and the gradient of what it made.
Problem random_step(uint64_t seed, int layers);

// Any DAG, with all that the format allows: given values that stay or go, pinned values, nodes
// without outputs, values that nobody reads, of no bytes, nodes that cost nothing.
Problem random_graph(uint64_t seed, int nodes);

// The most that one node needs for itself with what must live beside it: the given values that are
// read there or later, and what was made to be there at the end.
int64_t floor_of(const Problem& problem);

// The live bytes of the program at its fullest.
int64_t peak_of(const Problem& problem);

}  // namespace snug::testing
