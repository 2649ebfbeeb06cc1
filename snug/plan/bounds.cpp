#include "snug/plan/bounds.h"

#include <algorithm>
#include <cstdlib>

#include "snug/plan/instant.h"

namespace snug {
namespace {

constexpr int kInstants = 5;  // Where the bound is worked out.

bool uses(const Unit& unit, int value) {
  return std::find(unit.in.begin(), unit.in.end(), value) != unit.in.end() ||
         std::find(unit.out.begin(), unit.out.end(), value) != unit.out.end();
}

// The fullest positions, spread out.
std::vector<int> instants(const Timeline& timeline, int64_t limit) {
  std::vector<int> order;
  for (int p = 0; p < timeline.length(); ++p) {
    if (timeline.live()[p] > limit) order.push_back(p);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return timeline.live()[a] > timeline.live()[b]; });
  const int apart = timeline.length() / (4 * kInstants);
  std::vector<int> chosen;
  for (const int p : order) {
    const auto near = [&](int other) { return std::abs(p - other) < apart; };
    if (std::none_of(chosen.begin(), chosen.end(), near)) chosen.push_back(p);
    if (chosen.size() == kInstants) break;
  }
  return chosen;
}

}  // namespace

int64_t least_bytes(const UnitGraph& graph) {
  int64_t end = 0, always = 0;
  for (size_t v = 0; v < graph.bytes.size(); ++v) {
    end += graph.pinned[v] ? graph.bytes[v] : 0;
    always += graph.pinned[v] && graph.given[v] ? graph.bytes[v] : 0;
  }
  int64_t most = end;
  for (int u = 0; u < graph.program_size; ++u) {
    const Unit& unit = graph.units[u];
    int64_t bytes = working_bytes(graph, unit) + always;
    for (const int v : unit.in) bytes -= graph.pinned[v] && graph.given[v] ? graph.bytes[v] : 0;
    most = std::max(most, bytes);
  }
  return most;
}

int64_t least_peak(const Timeline& timeline) {
  const UnitGraph& graph = timeline.graph();
  int64_t end = 0;
  std::vector<int> held;  // Cannot be made again, or not for free.
  for (size_t i = 0; i < graph.bytes.size(); ++i) {
    const int v = static_cast<int>(i);
    if (graph.pinned[v]) end += graph.bytes[v];
    const bool again = graph.producer[v] >= 0 && graph.units[graph.producer[v]].pure;
    if (!again && !timeline.touches(v).empty()) held.push_back(v);
  }
  std::vector<int64_t> beside(timeline.length() + 1, 0);
  for (const int v : held) {
    const auto touches = timeline.touches(v);
    beside[std::max(0, touches.front().position)] += graph.bytes[v];
    if (touches.back().position < timeline.length())
      beside[touches.back().position + 1] -= graph.bytes[v];
  }
  int64_t most = end, live = 0;
  for (int p = 0; p < timeline.length(); ++p) {
    live += beside[p];
    const Unit& unit = graph.units[timeline.sequence()[p]];
    int64_t own = working_bytes(graph, unit);
    for (const int v : held) {
      const auto touches = timeline.touches(v);
      const bool counted =
          std::max(0, touches.front().position) <= p && p <= touches.back().position;
      if (counted && uses(unit, v)) own -= graph.bytes[v];
    }
    most = std::max(most, live + std::max<int64_t>(0, own));
  }
  return most;
}

double least_cost_ns(const Timeline& timeline, int64_t limit) {
  double most = 0;
  for (const int p : instants(timeline, limit))
    most = std::max(most, Instant(timeline, p, limit).bound());
  return timeline.graph().cost_ns(timeline.sequence()) + most;
}

}  // namespace snug
