// The bare call of oneDNN that computes what a node of matmul or conv2d does: what the node is
// measured against.
#pragma once

#include <functional>

#include "bench/ops_cases.h"

namespace snug::bench {

// On one thread, with its weights already in the library's own format. Empty for nodes that oneDNN
// has no counterpart of.
std::function<void()> bare_library_call(const Node& node, const OpCase& c);

}  // namespace snug::bench
