#include "snug/plan/bounds.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "snug/plan/gathering.h"
#include "snug/plan/min_cut.h"
#include "snug/plan/moment.h"

namespace snug {
namespace {

constexpr size_t kHeaviest = 8;  // Units that are looked at for a bound on the bytes.

// The least bytes beside the unit from which all that is needed later can be made again. A value on
// the side of the source is needed; it is kept, or its unit is there with it and so are its inputs.
int64_t must_cross(const UnitGraph& graph, int unit) {
  const Moment moment = moment_of(graph, unit);
  const int values = static_cast<int>(graph.bytes.size());
  std::vector<char> free(values, 0), has_edges(graph.units.size(), 0);
  for (const int v : graph.units[unit].in) free[v] = 1;
  for (const int v : graph.units[unit].out) free[v] = 1;
  MinCut cut(2 + values + static_cast<int>(graph.units.size()));
  for (int v = 0; v < values; ++v) {
    if (!moment.exists[v] || free[v]) continue;
    const int producer = graph.producer[v];
    const bool again = moment.can_be_made(graph, v);
    if (moment.needed_after[v]) cut.add_edge(0, 2 + v, MinCut::kInfinite);
    cut.add_edge(2 + v, again ? 2 + values + producer : 1, graph.bytes[v]);
    if (!again || has_edges[producer]) continue;
    has_edges[producer] = 1;
    for (const int in : graph.units[producer].in) {
      if (!free[in]) cut.add_edge(2 + values + producer, 2 + in, MinCut::kInfinite);
    }
  }
  return cut.solve();
}

int64_t pinned_bytes(const UnitGraph& graph) {
  int64_t bytes = 0;
  for (size_t v = 0; v < graph.bytes.size(); ++v) bytes += graph.pinned[v] ? graph.bytes[v] : 0;
  return bytes;
}

}  // namespace

int64_t least_bytes_beside_a_file(const UnitGraph& graph) {
  int64_t most = pinned_bytes(graph);
  for (int u = 0; u < graph.program_size; ++u)
    most = std::max(most, working_bytes(graph, graph.units[u]));
  return most;
}

int64_t least_bytes(const UnitGraph& graph) {
  Gathering gathering(graph);
  std::vector<int> pinned;
  for (size_t v = 0; v < graph.bytes.size(); ++v) {
    if (graph.pinned[v]) pinned.push_back(static_cast<int>(v));
  }
  int64_t most = gathering.bytes(pinned);
  for (int u = 0; u < graph.program_size; ++u)
    most = std::max({most, gathering.working(u), gathering.bytes(graph.units[u].in)});
  std::vector<int> order(graph.program_size);
  std::iota(order.begin(), order.end(), 0);
  const auto heaviest = order.begin() + std::min<std::ptrdiff_t>(kHeaviest, graph.program_size);
  std::partial_sort(order.begin(), heaviest, order.end(), [&](int a, int b) {
    return std::pair(-gathering.working(a), a) < std::pair(-gathering.working(b), b);
  });
  for (auto u = order.begin(); u != heaviest; ++u)
    most = std::max(most, gathering.working(*u) + must_cross(graph, *u));
  return most;
}

int64_t least_peak(const Timeline& timeline) {
  const UnitGraph& graph = timeline.graph();
  const int length = timeline.length();
  std::vector<int64_t> beside(length + 2, 0);
  int64_t end = 0;
  const auto is_held = [&](int v) {
    const bool again = graph.producer[v] >= 0 && graph.units[graph.producer[v]].pure;
    return !again && !timeline.touches(v).empty();
  };
  for (int v = 0; v < static_cast<int>(graph.bytes.size()); ++v) {
    end += graph.pinned[v] ? graph.bytes[v] : 0;
    if (!is_held(v)) continue;
    const auto touches = timeline.touches(v);
    beside[std::max(0, touches.front().position)] += graph.bytes[v];
    beside[std::max(0, touches.back().position) + 1] -= graph.bytes[v];
  }
  int64_t most = end, live = 0;
  for (int p = 0; p < length; ++p) {
    live += beside[p];
    const Unit& unit = graph.units[timeline.sequence()[p]];
    int64_t own = working_bytes(graph, unit);
    for (const int v : unit.in) own -= is_held(v) ? graph.bytes[v] : 0;
    for (const int v : unit.out) own -= is_held(v) ? graph.bytes[v] : 0;
    most = std::max(most, live + std::max<int64_t>(0, own));
  }
  return most;
}

}  // namespace snug
