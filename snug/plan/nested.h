// Sequences for tight limits that begin from the shape of a training step.
#pragma once

#include <cstdint>
#include <vector>

#include "snug/plan/timeline.h"

namespace snug {

// A step makes values up to its fullest moment, and reads them again after it, about the last made
// first. Its first part is cut at `stretches` narrow places. Of each stretch, either all that is
// read later is kept, or only what crosses its beginning; then it is made again from there, when
// the second part comes to it. A row of stretches can be made again in that way too, so that some
// of them run many times and few of them are ever whole. Which, and where, is the cheapest choice
// within the limit (a dynamic programme over rows of stretches and bytes).
//
// Empty where there is no such choice. The bytes are estimates: the sequence may be above the
// limit.
std::vector<int> nested_sequence(const Timeline& program, int64_t limit, int stretches);

}  // namespace snug
