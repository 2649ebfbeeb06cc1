#include "snug/plan/min_cut.h"

#include <gtest/gtest.h>

#include <random>

namespace snug {
namespace {

// All ways to divide the nodes, against the algorithm.
TEST(MinCut, AgreesWithAllDivisions) {
  std::mt19937_64 random(3);
  for (int trial = 0; trial < 100; ++trial) {
    const int nodes = 2 + static_cast<int>(random() % 7);
    struct Edge {
      int from, to;
      int64_t capacity;
    };
    std::vector<Edge> edges;
    MinCut cut(nodes);
    for (int e = 0; e < 3 * nodes; ++e) {
      edges.push_back({static_cast<int>(random() % nodes), static_cast<int>(random() % nodes),
                       static_cast<int64_t>(random() % 20)});
      cut.add_edge(edges.back().from, edges.back().to, edges.back().capacity);
    }
    int64_t least = INT64_MAX;
    for (uint32_t side = 0; side < 1u << nodes; ++side) {
      if ((side & 1) == 0 || (side & 2) != 0) continue;
      int64_t sum = 0;
      for (const Edge& edge : edges) {
        if ((side >> edge.from & 1) != 0 && (side >> edge.to & 1) == 0) sum += edge.capacity;
      }
      least = std::min(least, sum);
    }
    EXPECT_EQ(cut.solve(), least);
    EXPECT_EQ(cut.solve(), least) << "the second time";
    int64_t sum = 0;
    for (const Edge& edge : edges) {
      if (cut.is_reached(edge.from) && !cut.is_reached(edge.to)) sum += edge.capacity;
    }
    EXPECT_EQ(sum, least);
  }
}

}  // namespace
}  // namespace snug
