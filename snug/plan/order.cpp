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
        age_(graph.bytes.size(), -1) {
    for (int u = 0; u < graph.program_size; ++u) {
      const Unit& unit = graph.units[u];
      for (const int v : unit.in) ++readers_[v];
      if (static_cast<size_t>(unit.section) >= waiting_.size())
        waiting_.resize(unit.section + 1, 0);
      ++waiting_[unit.section];
    }
    consumers_.resize(graph.bytes.size());
    for (int u = 0; u < graph.program_size; ++u) {
      for (const int v : graph.units[u].in) {
        if (graph.producer[v] < 0) continue;
        ++missing_[u];
        consumers_[v].push_back(u);
      }
    }
  }

  std::vector<int> run() {
    for (int u = 0; u < graph_.program_size; ++u) {
      if (missing_[u] == 0) ready_.insert(u);
    }
    while (!ready_.empty()) take(best());
    return std::move(sequence_);
  }

 private:
  bool may_run(const Unit& unit) const {
    if (unit.section != section_) return false;
    return unit.pure || waiting_[section_] == 1;
  }

  int best() const {
    int best = -1;
    std::tuple<int64_t, int> best_key;
    for (const int u : ready_) {
      if (!may_run(graph_.units[u])) continue;
      const std::tuple key{rank(graph_.units[u]), u};
      if (best >= 0 && key >= best_key) continue;
      best = u;
      best_key = key;
    }
    return best;
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

  void take(int u) {
    const Unit& unit = graph_.units[u];
    ready_.erase(u);
    sequence_.push_back(u);
    for (const int v : unit.in) --readers_[v];
    for (const int v : unit.out) {
      age_[v] = static_cast<int>(sequence_.size());
      for (const int consumer : consumers_[v]) {
        if (--missing_[consumer] == 0) ready_.insert(consumer);
      }
    }
    --waiting_[unit.section];
    while (section_ + 1 < static_cast<int>(waiting_.size()) && waiting_[section_] == 0) ++section_;
  }

  const UnitGraph& graph_;
  Rule rule_;
  int section_ = 0;
  std::vector<int> readers_;  // By value: those that have not run.
  std::vector<int> missing_;  // By unit: inputs that are not made.
  std::vector<int> waiting_;  // By section: units that have not run.
  std::vector<int> age_;      // By value: when it was made.
  std::vector<std::vector<int>> consumers_;
  std::set<int> ready_;
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
