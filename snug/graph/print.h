#pragma once

#include <string>

#include "snug/graph/graph.h"

namespace snug {

// One line a node: "%7 float32[rows, 64] = matmul(%3, %1) transpose_b  # dense".
std::string text(const Graph& graph);

// The graph in Graphviz's language.
std::string graphviz(const Graph& graph);

}  // namespace snug
