// Dinic's algorithm: shortest augmenting paths, level by level.
#include "snug/plan/min_cut.h"

#include <algorithm>

namespace snug {

int MinCut::add_edge(int from, int to, int64_t capacity) {
  const int edge = static_cast<int>(edges_.size());
  edges_.push_back({to, first_[from], capacity});
  first_[from] = edge;
  edges_.push_back({from, first_[to], 0});
  first_[to] = edge + 1;
  return edge;
}

// From the sink, so that a path never enters what does not lead there.
bool MinCut::find_levels() {
  level_.assign(first_.size(), -1);
  level_[1] = 0;
  queue_.assign(1, 1);
  for (size_t i = 0; i < queue_.size() && level_[0] < 0; ++i) {
    for (int e = first_[queue_[i]]; e >= 0; e = edges_[e].next) {
      ++work_;
      const int from = edges_[e].to;
      if (left_[e ^ 1] == 0 || level_[from] >= 0) continue;
      level_[from] = level_[queue_[i]] + 1;
      queue_.push_back(from);
    }
  }
  return level_[0] >= 0;
}

// One path from the source to the sink, found without recursion: paths can be as long as the graph.
// It goes on from where the path before it was cut.
int64_t MinCut::push() {
  int at = path_.empty() ? 0 : edges_[path_.back()].to;
  while (at != 1) {
    int& e = current_[at];
    while (e >= 0 && (left_[e] == 0 || level_[edges_[e].to] != level_[at] - 1)) {
      e = edges_[e].next;
      ++work_;
    }
    if (e >= 0) {
      path_.push_back(e);
      at = edges_[e].to;
      continue;
    }
    if (path_.empty()) return 0;
    at = edges_[path_.back() ^ 1].to;
    path_.pop_back();
    current_[at] = edges_[current_[at]].next;
  }
  int64_t flow = kInfinite;
  for (const int e : path_) flow = std::min(flow, left_[e]);
  size_t full = path_.size();
  for (size_t i = path_.size(); i-- > 0;) {
    left_[path_[i]] -= flow;
    left_[path_[i] ^ 1] += flow;
    if (left_[path_[i]] == 0) full = i;
  }
  work_ += static_cast<int64_t>(path_.size());
  path_.resize(full);
  return flow;
}

void MinCut::find_reached() {
  reached_.assign(first_.size(), 0);
  reached_[0] = 1;
  queue_.assign(1, 0);
  for (size_t i = 0; i < queue_.size(); ++i) {
    for (int e = first_[queue_[i]]; e >= 0; e = edges_[e].next) {
      if (left_[e] == 0 || reached_[edges_[e].to]) continue;
      reached_[edges_[e].to] = 1;
      queue_.push_back(edges_[e].to);
    }
  }
}

int64_t MinCut::solve() {
  left_.clear();
  for (const Edge& edge : edges_) left_.push_back(edge.capacity);
  int64_t total = 0;
  while (total < kInfinite && find_levels()) {
    current_ = first_;
    path_.clear();
    while (const int64_t flow = push()) total = std::min(kInfinite, total + flow);
  }
  find_reached();
  return total;
}

}  // namespace snug
