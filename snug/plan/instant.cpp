#include "snug/plan/instant.h"

#include <algorithm>

#include "snug/plan/min_cut.h"

namespace snug {
namespace {

constexpr int kPrices = 14;      // Steps of the search for the best price.
constexpr double kScale = 1e12;  // Capacities are whole numbers.

// Is read, or needed at the end, after the unit at the position has run for the first time.
bool is_needed_after(const Timeline& timeline, int value, int position) {
  const auto touches = timeline.touches(value);
  return !touches.empty() && touches.front().position <= position &&
         touches.back().position > position;
}

}  // namespace

// What a unit needs for itself while it runs, overwrites taken wherever they are allowed.
int64_t working_bytes(const UnitGraph& graph, const Unit& unit) {
  int64_t bytes = unit.extra_bytes;
  for (const int v : unit.in) bytes += graph.bytes[v];
  std::vector<char> shared(unit.out.size(), 0);
  for (const Overwrite& o : unit.overwrites) shared[o.output] = 1;
  for (size_t i = 0; i < unit.out.size(); ++i) bytes += shared[i] ? 0 : graph.bytes[unit.out[i]];
  return bytes;
}

Instant::Instant(const Timeline& timeline, int position, int64_t limit)
    : timeline_(timeline), graph_(timeline.graph()), position_(position) {
  const Unit& unit = graph_.units[timeline.sequence()[position]];
  room_ = static_cast<double>(limit - working_bytes(graph_, unit));
  free_.assign(graph_.bytes.size(), 0);
  for (const int v : unit.in) free_[v] = 1;
  for (const int v : unit.out) free_[v] = 1;
  for (int p = 0; p <= position; ++p) total_ += graph_.units[timeline.sequence()[p]].cost_ns;
  total_ = std::max(total_, 1e-9);
  double low = 0, high = 1;
  for (cut(high); high < 1e9 && kept_bytes_ > room_; cut(high)) high *= 4;
  for (int i = 0; i < kPrices; ++i) {
    const double price = 0.5 * (low + high);
    cut(price);
    (kept_bytes_ > room_ ? low : high) = price;
  }
  cut(high);
}

bool Instant::exists(int value) const {
  const auto touches = timeline_.touches(value);
  return !touches.empty() && touches.front().position <= position_;
}

bool Instant::can_be_made_again(int value) const {
  const int producer = graph_.producer[value];
  return producer >= 0 && graph_.units[producer].pure;
}

// Source side: values that must be available later, and units that run again. A value there is paid
// for by its bytes unless its unit runs again, a unit by its time; and a unit that runs again wants
// its inputs.
void Instant::cut(double price) {
  const int values = static_cast<int>(graph_.bytes.size());
  MinCut cut(2 + values + static_cast<int>(graph_.units.size() + graph_.node_cost_ns.size()));
  // At a high price even a small value costs more than an integer holds: enough is enough.
  constexpr double kMost = static_cast<double>(MinCut::kInfinite) / 1024;
  const auto whole = [&](double cost) {
    return static_cast<int64_t>(std::min(cost / total_ * kScale, kMost));
  };
  for (int v = 0; v < values; ++v) {
    if (free_[v] || !exists(v)) continue;
    if (is_needed_after(timeline_, v, position_)) cut.add_edge(0, 2 + v, MinCut::kInfinite);
    cut.add_edge(2 + v, can_be_made_again(v) ? unit_node(graph_.producer[v]) : 1,
                 whole(price * static_cast<double>(graph_.bytes[v])));
  }
  std::vector<char> has_edges(graph_.units.size(), 0), is_paid(graph_.node_cost_ns.size(), 0);
  for (int v = 0; v < values; ++v) {
    if (!exists(v) || !can_be_made_again(v) || has_edges[graph_.producer[v]]) continue;
    const int u = graph_.producer[v];
    has_edges[u] = 1;
    const Unit& unit = graph_.units[u];
    if (!unit.parts) cut.add_edge(unit_node(u), 1, whole(unit.cost_ns));
    // Pieces of a stage may have nodes in common: each is paid for once.
    for (const int n : unit.parts ? unit.nodes : std::vector<int>()) {
      cut.add_edge(unit_node(u), work_node(n), MinCut::kInfinite);
      if (!is_paid[n]) cut.add_edge(work_node(n), 1, whole(graph_.node_cost_ns[n]));
      is_paid[n] = 1;
    }
    for (const int in : unit.in) {
      if (!free_[in]) cut.add_edge(unit_node(u), 2 + in, MinCut::kInfinite);
    }
  }
  bound_ = std::max(bound_, static_cast<double>(cut.solve()) / kScale * total_ - price * room_);
  kept_.assign(values, 0);
  kept_bytes_ = 0;
  for (int v = 0; v < values; ++v) {
    if (free_[v] || !exists(v) || !cut.is_reached(2 + v)) continue;
    if (can_be_made_again(v) && cut.is_reached(unit_node(graph_.producer[v]))) continue;
    kept_[v] = 1;
    kept_bytes_ += static_cast<double>(graph_.bytes[v]);
  }
}

}  // namespace snug
