// Dinic's algorithm: shortest augmenting paths, level by level.
#include "snug/plan/min_cut.h"

#include <algorithm>

namespace snug {

void MinCut::add_edge(int from, int to, int64_t capacity) {
  adjacent_[from].push_back(static_cast<int>(edges_.size()));
  edges_.push_back({to, capacity});
  adjacent_[to].push_back(static_cast<int>(edges_.size()));
  edges_.push_back({from, 0});
}

bool MinCut::find_levels() {
  level_.assign(adjacent_.size(), -1);
  level_[0] = 0;
  std::vector<int> queue{0};
  for (size_t i = 0; i < queue.size(); ++i) {
    for (const int e : adjacent_[queue[i]]) {
      const Edge& edge = edges_[e];
      if (edge.capacity == 0 || level_[edge.to] >= 0) continue;
      level_[edge.to] = level_[queue[i]] + 1;
      queue.push_back(edge.to);
    }
  }
  return level_[1] >= 0;
}

// One path from the source to the sink, found without recursion: paths can be as long as the graph.
int64_t MinCut::push() {
  std::vector<int> path;
  int at = 0;
  while (at != 1) {
    bool advanced = false;
    for (int& i = next_[at]; i < static_cast<int>(adjacent_[at].size()); ++i) {
      const int e = adjacent_[at][i];
      if (edges_[e].capacity == 0 || level_[edges_[e].to] != level_[at] + 1) continue;
      path.push_back(e);
      at = edges_[e].to;
      advanced = true;
      break;
    }
    if (advanced) continue;
    if (path.empty()) return 0;
    at = edges_[path.back() ^ 1].to;
    path.pop_back();
    ++next_[at];
  }
  int64_t flow = kInfinite;
  for (const int e : path) flow = std::min(flow, edges_[e].capacity);
  for (const int e : path) {
    edges_[e].capacity -= flow;
    edges_[e ^ 1].capacity += flow;
  }
  return flow;
}

int64_t MinCut::solve() {
  int64_t total = 0;
  while (find_levels()) {
    next_.assign(adjacent_.size(), 0);
    while (const int64_t flow = push()) {
      total += flow;
      if (total >= kInfinite) return kInfinite;
    }
  }
  return total;
}

}  // namespace snug
