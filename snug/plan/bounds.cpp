#include "snug/plan/bounds.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "snug/plan/instant.h"

namespace snug {
namespace {

constexpr size_t kCandidates = 24;        // Units that are looked at for a bound on the time.
constexpr size_t kMostInstants = 16;      // Those of them where it is worked out,
constexpr size_t kInstantsWork = 60'000;  // as long as they have so many units together; but three.
constexpr size_t kHeaviest = 8;           // Units that are looked at for a bound on the bytes.
constexpr int64_t kGatheringWork = 20'000'000;  // Values looked at for another one.

// The fullest positions of the program, spread out.
std::vector<int> fullest(const Timeline& timeline, int64_t limit) {
  std::vector<int> order;
  for (int p = 0; p < timeline.length(); ++p) {
    if (timeline.live()[p] > limit) order.push_back(p);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return timeline.live()[a] > timeline.live()[b]; });
  const int apart = timeline.length() / (4 * static_cast<int>(kCandidates));
  std::vector<int> chosen;
  for (const int p : order) {
    const auto near = [&](int other) { return std::abs(p - other) < apart; };
    if (std::none_of(chosen.begin(), chosen.end(), near)) chosen.push_back(p);
    if (chosen.size() == kCandidates) break;
  }
  return chosen;
}

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
    const bool again = producer >= 0 && graph.units[producer].pure;
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

// What it takes to have some values at one time: when the last of them is made, the others are
// there already.
class Gathering {
 public:
  explicit Gathering(const UnitGraph& graph)
      : graph_(graph),
        makers_(graph.bytes.size()),
        is_wanted_(graph.bytes.size(), 0),
        seen_(graph.units.size(), 0) {
    for (int u = 0; u < static_cast<int>(graph.units.size()); ++u) {
      for (const int v : graph.units[u].out) makers_[v].push_back(u);
      working_.push_back(working_bytes(graph, graph.units[u]));
    }
  }

  int64_t working(int unit) const { return working_[unit]; }

  // No sequence has these values at once in fewer bytes.
  int64_t bytes(const std::vector<int>& values) {
    ++look_;
    int64_t all = 0;
    for (const int v : values) {
      all += graph_.bytes[v];
      is_wanted_[v] = look_;
    }
    int64_t least = INT64_MAX;
    for (const int v : values) {
      for (const int maker : makers_[v]) {
        if (std::exchange(seen_[maker], look_) != look_)
          least = std::min(least, beside(graph_.units[maker]) + working_[maker]);
      }
      if (work_ > kGatheringWork) return all;
    }
    return least == INT64_MAX ? all : all + std::max<int64_t>(0, least);
  }

 private:
  // The wanted values that the unit reads or makes, which count with it: less than nothing.
  int64_t beside(const Unit& unit) {
    int64_t bytes = 0;
    for (const int v : unit.in) bytes -= is_wanted_[v] == look_ ? graph_.bytes[v] : 0;
    for (const int v : unit.out) bytes -= is_wanted_[v] == look_ ? graph_.bytes[v] : 0;
    work_ += static_cast<int64_t>(unit.in.size() + unit.out.size());
    return bytes;
  }

  const UnitGraph& graph_;
  std::vector<std::vector<int>> makers_;  // By value.
  std::vector<int64_t> working_;          // By unit.
  std::vector<int> is_wanted_, seen_;     // By value, by unit: in which look.
  int look_ = 0;
  int64_t work_ = 0;
};

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

double least_cost_ns(const UnitGraph& graph, int64_t limit) {
  const Timeline program(graph, graph.program());
  std::vector<std::pair<int64_t, Moment>> moments;
  for (const int p : fullest(program, limit)) {
    Moment moment = moment_of(graph, program.sequence()[p]);
    const int64_t bytes =
        crossing_bytes(graph, moment) + working_bytes(graph, graph.units[moment.unit]);
    if (bytes > limit) moments.push_back({bytes, std::move(moment)});
  }
  std::stable_sort(moments.begin(), moments.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  const size_t count =
      std::clamp<size_t>(kInstantsWork / std::max<size_t>(1, graph.units.size()), 3, kMostInstants);
  if (moments.size() > count) moments.resize(count);
  double most = 0;
  for (const auto& [bytes, moment] : moments)
    most = std::max(most, Instant(graph, moment, limit).bound());
  return graph.cost_ns(graph.program()) + most;
}

}  // namespace snug
