#include "snug/plan/order.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "snug/plan/late_order.h"

namespace snug {
namespace {

enum class Rule {
  least_growth,  // The ready unit after which the least is alive.
  most_freed,    // The ready unit that ends the most bytes of lives.
  newest  // The ready unit whose inputs are the youngest: one branch to its end, then the next.
};

// Takes one ready unit after the other.
class Listing {
 public:
  Listing(const UnitGraph& graph, Rule rule)
      : graph_(graph),
        rule_(rule),
        readers_(graph.bytes.size(), 0),
        missing_(graph.program_size, 0),
        age_(graph.bytes.size(), -1),
        consumers_(graph.bytes.size()),
        rank_(graph.program_size, 0),
        state_(graph.program_size, State::waits) {
    for (int u = 0; u < graph.program_size; ++u) {
      const Unit& unit = graph.units[u];
      if (static_cast<size_t>(unit.section) >= waiting_.size())
        waiting_.resize(unit.section + 1, 0);
      ++waiting_[unit.section];
      for (const int v : unit.in) {
        ++readers_[v];
        consumers_[v].push_back(u);
        missing_[u] += graph.producer[v] < 0 ? 0 : 1;
      }
    }
    ready_.resize(waiting_.size());
  }

  std::vector<int> run() {
    for (int u = 0; u < graph_.program_size; ++u) {
      if (missing_[u] == 0) be_ready(u);
    }
    for (int u = best(); u >= 0; u = best()) take(u);
    return std::move(sequence_);
  }

 private:
  enum class State : uint8_t { waits, ready, ran };
  // Units that are not pure last; the least rank first, of those the first of the program.
  using Key = std::tuple<bool, int64_t, int>;

  Key key(int u) const { return {!graph_.units[u].pure, rank_[u], u}; }

  // -1: there is none.
  int best() {
    while (section_ + 1 < static_cast<int>(waiting_.size()) && waiting_[section_] == 0) ++section_;
    if (ready_.empty() || ready_[section_].empty()) return -1;
    const auto [waits_for_all, rank, u] = *ready_[section_].begin();
    return waits_for_all && waiting_[section_] > 1 ? -1 : u;
  }

  int64_t rank(const Unit& unit) const {
    int64_t freed = 0, made = 0, newest = -1;
    for (const int v : unit.in) {
      if (readers_[v] == 1 && !graph_.pinned[v]) freed += graph_.bytes[v];
      newest = std::max<int64_t>(newest, age_[v]);
    }
    for (const int v : unit.out) made += readers_[v] > 0 || graph_.pinned[v] ? graph_.bytes[v] : 0;
    if (rule_ == Rule::least_growth) return made - freed;
    return rule_ == Rule::most_freed ? -freed : -newest;
  }

  void be_ready(int u) {
    state_[u] = State::ready;
    rank_[u] = rank(graph_.units[u]);
    ready_[graph_.units[u].section].insert(key(u));
  }

  void take(int u) {
    const Unit& unit = graph_.units[u];
    ready_[unit.section].erase(key(u));
    state_[u] = State::ran;
    sequence_.push_back(u);
    for (const int v : unit.in) {
      if (--readers_[v] == 1) weigh_last_reader(v);
    }
    for (const int v : unit.out) {
      age_[v] = static_cast<int>(sequence_.size());
      for (const int consumer : consumers_[v]) {
        if (--missing_[consumer] == 0) be_ready(consumer);
      }
    }
    --waiting_[unit.section];
  }

  // It ends the value's life now. Nothing else changes the rank of a unit that is ready.
  void weigh_last_reader(int value) {
    const auto waits = [&](int u) { return state_[u] != State::ran; };
    const int u = *std::ranges::find_if(consumers_[value], waits);
    if (state_[u] != State::ready) return;
    ready_[graph_.units[u].section].erase(key(u));
    be_ready(u);
  }

  const UnitGraph& graph_;
  Rule rule_;
  int section_ = 0;
  std::vector<int> readers_;  // By value: those that have not run.
  std::vector<int> missing_;  // By unit: inputs that are not made.
  std::vector<int> waiting_;  // By section: units that have not run.
  std::vector<int> age_;      // By value: when it was made.
  std::vector<std::vector<int>> consumers_;
  std::vector<int64_t> rank_;         // By unit, of those that are ready.
  std::vector<State> state_;          // By unit.
  std::vector<std::set<Key>> ready_;  // By section.
  std::vector<int> sequence_;
};

}  // namespace

std::vector<int> best_order(const UnitGraph& graph, const std::vector<int>& sequence) {
  std::vector<int> best = sequence;
  int64_t lowest = Timeline(graph, best).peak();
  for (const Rule rule : {Rule::least_growth, Rule::most_freed, Rule::newest}) {
    std::vector<int> order = late_order(graph, Listing(graph, rule).run());
    const int64_t peak = Timeline(graph, order).peak();
    if (order.size() != best.size() || peak >= lowest) continue;
    lowest = peak;
    best = std::move(order);
  }
  return best;
}

}  // namespace snug
