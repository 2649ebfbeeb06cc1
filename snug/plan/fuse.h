// Joins chains of element-wise nodes into one node that runs them block by block, so that what
// passes between them stays in the first cache and never exists whole.
#pragma once

#include <memory>

#include "snug/graph/graph.h"

namespace snug {

// The graph with joined nodes; values keep their numbers, those that passed inside a joined node
// have no producer any more. `results` are the values that the caller reads: they stay. Gives the
// same bits as the graph itself.
std::unique_ptr<Graph> fuse(const Graph& graph, const Values& results);

}  // namespace snug
