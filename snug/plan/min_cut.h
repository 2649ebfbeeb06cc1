#pragma once

#include <cstdint>
#include <vector>

namespace snug {

// The least total capacity of edges that separate the source (node 0) from the sink (node 1). Can
// be solved again with other capacities.
class MinCut {
 public:
  explicit MinCut(int nodes) : first_(nodes, -1) {}

  static constexpr int64_t kInfinite = INT64_MAX / 4;

  // Returns the number of the edge.
  int add_edge(int from, int to, int64_t capacity);
  void set_capacity(int edge, int64_t capacity) { edges_[edge].capacity = capacity; }
  int64_t solve();
  // After solve: on the side of the source.
  bool is_reached(int node) const { return reached_[node]; }
  // Edges looked at since it was made.
  int64_t work() const { return work_; }

 private:
  struct Edge {
    int to, next;  // The next edge of the same node, or -1.
    int64_t capacity;
  };

  bool find_levels();
  int64_t push();
  void find_reached();

  std::vector<Edge> edges_;    // Each next to its reverse.
  std::vector<int> first_;     // By node.
  std::vector<int64_t> left_;  // By edge: what can still flow.
  std::vector<int> level_;     // By node: edges to the sink, or -1.
  std::vector<int> current_, queue_, path_;
  std::vector<char> reached_;
  int64_t work_ = 0;
};

}  // namespace snug
