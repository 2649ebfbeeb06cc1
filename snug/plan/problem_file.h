// Problems as text, so that a hard case can be kept and sent.
//
//   N V                                  nodes and values
//   bytes constant pinned release        V lines, one for each value
//   cost_ns k in... m out...             N lines, one for each node, in program order
//
// constant = 1: given, no node makes it; it may be freed after its last reader when release >= 0
// and never when it is -1. pinned = 1: needed at the end. release: the last node for which the
// program that it came from kept the value, or -1.
#pragma once

#include <iosfwd>
#include <string>

#include "snug/plan/problem.h"

namespace snug {

// One stage of one part; every node may be computed again. Throws DataError that names the line.
Problem read_problem(std::istream& in, const std::string& name);

// Values of lanes become values of the arena: stages, scratch and overwrites are not kept.
void write_problem(const Problem& problem, std::ostream& out);

}  // namespace snug
