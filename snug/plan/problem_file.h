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

// One stage of one part; every node may be computed again, and a value takes exactly its bytes.
// Throws an Error that names the line.
Problem read_problem(std::istream& in, const std::string& name);

// A stage that runs in parts becomes one node. Scratch and lanes become values that nobody reads;
// bytes are rounded up to the problem's alignment. What may overwrite what, and which nodes may not
// run again, the format cannot say.
void write_problem(const Problem& problem, std::ostream& out);

}  // namespace snug
