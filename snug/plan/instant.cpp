#include "snug/plan/instant.h"

#include <algorithm>

namespace snug {
namespace {

constexpr int kPrices = 24;      // Steps of the search for the best price: far more than it takes.
constexpr double kScale = 1e12;  // Capacities are whole numbers.
constexpr double kRounding = 1e-10;

}  // namespace

Instant::Instant(const UnitGraph& graph, const Moment& moment, int64_t limit,
                 const std::vector<int>& held, const std::vector<int>& dropped)
    : graph_(graph),
      moment_(moment),
      free_(graph.bytes.size(), 0),
      cut_(2 +
           static_cast<int>(graph.bytes.size() + graph.units.size() + graph.node_cost_ns.size())),
      value_edge_(graph.bytes.size(), -1) {
  const Unit& unit = graph_.units[moment.unit];
  room_ = static_cast<double>(limit - working_bytes(graph_, unit));
  for (const int v : unit.in) free_[v] = 1;
  for (const int v : unit.out) free_[v] = 1;
  for (const int v : held) {
    if (free_[v] || !moment.exists[v]) continue;
    room_ -= static_cast<double>(graph.bytes[v]);
    free_[v] = 1;
  }
  for (int u = 0; u < graph.program_size; ++u) total_ += graph.units[u].cost_ns;
  add_values(dropped);
  add_units();
  search();
  for (const int v : held) kept_[v] = 1;
}

// Rounded down, so that a bound stays one.
int64_t Instant::whole(double ns) const {
  constexpr double kMost = static_cast<double>(MinCut::kInfinite) / 1024;
  return static_cast<int64_t>(std::min(ns / total_ * kScale, kMost));
}

// Source side: values that must be available later, and units that run again. A value there is paid
// for by its bytes unless its unit runs again, a unit by its time; and a unit that runs again wants
// its inputs.
void Instant::add_values(const std::vector<int>& dropped) {
  std::vector<char> is_dropped(graph_.bytes.size(), 0);
  for (const int v : dropped) is_dropped[v] = 1;
  for (int v = 0; v < static_cast<int>(graph_.bytes.size()); ++v) {
    if (free_[v] || !moment_.exists[v]) continue;
    if (moment_.needed_after[v]) cut_.add_edge(0, 2 + v, MinCut::kInfinite);
    const bool can_be_made = moment_.can_be_made(graph_, v);
    const int to = can_be_made ? unit_node(graph_.producer[v]) : 1;
    const bool fits = !can_be_made || static_cast<double>(graph_.bytes[v]) <= room_;
    const bool is_choice = fits && !is_dropped[v];
    const int edge = cut_.add_edge(2 + v, to, is_choice ? 0 : MinCut::kInfinite);
    value_edge_[v] = is_choice ? edge : -1;
    keeps_all_ = keeps_all_ && is_choice;
  }
}

void Instant::add_units() {
  std::vector<char> has_edges(graph_.units.size(), 0), is_paid(graph_.node_cost_ns.size(), 0);
  for (int v = 0; v < static_cast<int>(graph_.bytes.size()); ++v) {
    if (!moment_.exists[v] || !moment_.can_be_made(graph_, v)) continue;
    const int u = graph_.producer[v];
    if (has_edges[u]) continue;
    has_edges[u] = 1;
    const Unit& unit = graph_.units[u];
    const bool costs = !moment_.may_wait[u];
    if (costs && !unit.parts) cut_.add_edge(unit_node(u), 1, whole(unit.cost_ns));
    // Pieces of a stage may have nodes in common: each is paid for once.
    for (const int n : costs&& unit.parts ? unit.nodes : std::vector<int>()) {
      cut_.add_edge(unit_node(u), work_node(n), MinCut::kInfinite);
      if (!is_paid[n]) cut_.add_edge(work_node(n), 1, whole(graph_.node_cost_ns[n]));
      is_paid[n] = 1;
    }
    for (const int in : unit.in) {
      if (!free_[in]) cut_.add_edge(unit_node(u), 2 + in, MinCut::kInfinite);
    }
  }
}

Instant::Choice Instant::everything_kept() const {
  Choice choice{.kept = std::vector<char>(graph_.bytes.size(), 0)};
  for (size_t v = 0; v < graph_.bytes.size(); ++v) {
    choice.kept[v] = moment_.needed_after[v] && !free_[v];
    choice.bytes += choice.kept[v] ? static_cast<double>(graph_.bytes[v]) : 0;
  }
  return choice;
}

Instant::Choice Instant::choose(double price) {
  for (size_t v = 0; v < graph_.bytes.size(); ++v) {
    if (value_edge_[v] >= 0)
      cut_.set_capacity(value_edge_[v], whole(price * static_cast<double>(graph_.bytes[v])));
  }
  const double cost = static_cast<double>(cut_.solve()) / kScale * total_;
  bound_ = std::max(bound_, cost - price * room_ - kRounding * total_);
  Choice choice{.kept = std::vector<char>(graph_.bytes.size(), 0)};
  for (int v = 0; v < static_cast<int>(graph_.bytes.size()); ++v) {
    if (value_edge_[v] < 0 || !cut_.is_reached(2 + v)) continue;
    if (moment_.can_be_made(graph_, v) && cut_.is_reached(unit_node(graph_.producer[v]))) continue;
    choice.kept[v] = 1;
    choice.bytes += static_cast<double>(graph_.bytes[v]);
  }
  choice.ns = cost - price * choice.bytes;
  return choice;
}

// The bound is a concave function of the price, made of straight lines: each choice is one of them.
// Where the line of a choice that is too large meets that of one that fits, there is either the top
// or a better line.
void Instant::search() {
  Choice large = keeps_all_ ? everything_kept() : choose(0);
  if (large.bytes <= room_) {
    kept_ = std::move(large.kept);
    return;
  }
  // So dear that only what cannot be made again is kept.
  Choice small = choose(100 * total_ / std::max(1.0, room_));
  for (int i = 0; i < kPrices && small.bytes <= room_; ++i) {
    const double price = (small.ns - large.ns) / (large.bytes - small.bytes);
    Choice choice = choose(price);
    const bool is_top =
        choice.ns + price * choice.bytes >= (large.ns + price * large.bytes) * (1 - 1e-9);
    const bool fits = choice.bytes <= room_;
    if (is_top && !fits) break;
    (fits ? small : large) = std::move(choice);
    if (is_top) break;
  }
  find_undecided(large, small);
  mix(large, std::move(small));
}

void Instant::find_undecided(const Choice& large, const Choice& small) {
  for (int v = 0; v < static_cast<int>(graph_.bytes.size()); ++v) {
    const bool larger = undecided_ < 0 || graph_.bytes[v] > graph_.bytes[undecided_];
    if (large.kept[v] != small.kept[v] && larger) undecided_ = v;
  }
}

// Where many parts of a graph are alike, one price turns all of them at once, and the choice that
// fits leaves much room. What the program makes last is needed first: there, the larger choice is
// taken as far as it fits.
void Instant::mix(const Choice& large, Choice small) {
  kept_ = std::move(small.kept);
  double bytes = small.bytes;
  for (int u = graph_.program_size - 1; u >= 0 && bytes <= room_; --u) {
    for (const int v : graph_.units[u].out) {
      if (kept_[v] == large.kept[v]) continue;
      const double change = (large.kept[v] ? 1.0 : -1.0) * static_cast<double>(graph_.bytes[v]);
      if (bytes + change > room_) continue;
      bytes += change;
      kept_[v] = large.kept[v];
    }
  }
}

}  // namespace snug
