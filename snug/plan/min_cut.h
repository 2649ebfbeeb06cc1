#pragma once

#include <cstdint>
#include <vector>

namespace snug {

// The least total capacity of edges that separate the source (node 0) from the sink (node 1).
class MinCut {
 public:
  explicit MinCut(int nodes) : adjacent_(nodes) {}

  static constexpr int64_t kInfinite = INT64_MAX / 4;

  void add_edge(int from, int to, int64_t capacity);
  int64_t solve();
  // After solve: on the side of the source.
  bool is_reached(int node) const { return level_[node] >= 0; }

 private:
  struct Edge {
    int to;
    int64_t capacity;
  };

  bool find_levels();
  int64_t push();

  std::vector<Edge> edges_;  // Each next to its reverse.
  std::vector<std::vector<int>> adjacent_;
  std::vector<int> level_, next_;
};

}  // namespace snug
