// Computes what is cheap again where it is read after all rows have been joined, instead of keeping
// it until then.
#pragma once

#include <memory>

#include "snug/graph/graph.h"

namespace snug {

// A sum over rows is a barrier: what is made before it and read after it goes to memory and comes
// back. Where such a value is a short chain of element-wise nodes on values that pass the barrier
// anyway (an activation of a normalisation, whose input the backward pass reads too), its later
// readers get a chain of their own: less memory, and less of it moved. Random chains are left.
//
// The graph with these chains; values keep their numbers, new ones stand behind them. Gives the
// same bits as the graph itself.
std::unique_ptr<Graph> recompute_cheap(const Graph& graph, const Values& results);

}  // namespace snug
