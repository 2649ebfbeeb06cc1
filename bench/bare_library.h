// The bare call of oneDNN that computes what a node of matmul or conv2d does: what the node is
// measured against.
#pragma once

#include <optional>

#include "bench/ops_cases.h"

namespace snug::bench {

// Nanoseconds of one call, on one thread, with its weights already in the library's own format.
// None for nodes that oneDNN has no counterpart of.
std::optional<double> bare_library_ns(const Node& node, const OpCase& c);

}  // namespace snug::bench
