#include "snug/plan/gathering.h"

#include <algorithm>
#include <utility>

#include "snug/plan/moment.h"

namespace snug {
namespace {

constexpr int64_t kMostWork = 20'000'000;  // Values looked at.

}  // namespace

Gathering::Gathering(const UnitGraph& graph)
    : graph_(graph), makers_(graph.bytes.size()), is_wanted_(graph.bytes.size(), 0) {
  for (int u = 0; u < static_cast<int>(graph.units.size()); ++u) {
    for (const int v : graph.units[u].out) makers_[v].push_back(u);
    working_.push_back(working_bytes(graph, graph.units[u]));
  }
}

// The best order begins, seen from the end, with those that need the least beside them: each that
// is not made yet is room for the one before it.
int64_t Gathering::bytes(const std::vector<int>& values) {
  ++look_;
  int64_t all = 0;
  for (const int v : values) {
    all += graph_.bytes[v];
    is_wanted_[v] = look_;
  }
  std::vector<std::pair<int64_t, int>> made;
  for (const int v : values) {
    if (work_ > kMostWork) return all;
    if (!makers_[v].empty()) made.push_back({beside(v), v});
  }
  std::sort(made.begin(), made.end());
  int64_t most = all, there = all;
  for (const auto& [bytes, v] : made) {
    most = std::max(most, there + bytes);
    there -= graph_.bytes[v];
  }
  return most;
}

// The least of its makers.
int64_t Gathering::beside(int value) {
  int64_t least = INT64_MAX;
  for (const int maker : makers_[value]) {
    const Unit& unit = graph_.units[maker];
    least = std::min(least, working_[maker] + beside(unit));
    work_ += static_cast<int64_t>(unit.in.size() + unit.out.size());
  }
  return least;
}

// The wanted values that the unit reads or makes, which count with the others: less than nothing.
int64_t Gathering::beside(const Unit& unit) const {
  int64_t bytes = 0;
  for (const int v : unit.in) bytes -= is_wanted_[v] == look_ ? graph_.bytes[v] : 0;
  for (const int v : unit.out) bytes -= is_wanted_[v] == look_ ? graph_.bytes[v] : 0;
  return bytes;
}

}  // namespace snug
