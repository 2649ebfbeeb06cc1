#include "snug/plan/late_order.h"

#include <algorithm>
#include <cstdint>

namespace snug {
namespace {

// The new order as a list, made from its end to its beginning. A label says which of two comes
// first.
class LateOrder {
 public:
  LateOrder(const UnitGraph& graph, const std::vector<int>& sequence)
      : graph_(graph),
        sequence_(sequence),
        next_(graph.units.size() + 1, -1),
        before_(graph.units.size() + 1, -1),
        label_(graph.units.size() + 1, 0),
        end_(static_cast<int>(graph.units.size())),
        first_(end_),
        first_reader_(graph.bytes.size(), -1),
        last_reader_(graph.bytes.size(), -1) {
    for (const int u : sequence)
      last_section_ =
          std::max(last_section_, graph.units[u].section + (graph.units[u].pure ? 0 : 1));
  }

  std::vector<int> run() {
    for (auto u = sequence_.rbegin(); u != sequence_.rend(); ++u) {
      const int reader = first_reader_of(*u);
      insert(*u, may_move(*u, reader) && waits(*u, reader) ? reader : first_);
      for (const int v : graph_.units[*u].in) {
        int &first = first_reader_[v], &last = last_reader_[v];
        if (first < 0 || label_[*u] < label_[first]) first = *u;
        if (last < 0 || label_[*u] > label_[last]) last = *u;
      }
    }
    std::vector<int> order;
    for (int u = first_; u != end_; u = next_[u]) order.push_back(u);
    return order;
  }

 private:
  bool may_move(int u, int place) const {
    const int section = place == end_ ? last_section_ : graph_.units[place].section;
    return graph_.units[u].pure && graph_.units[u].section == section;
  }

  // Whether it is worth it to wait until the place: what it makes is there later, but what it reads
  // may have to stay longer for it.
  bool waits(int u, int place) const {
    const Unit& unit = graph_.units[u];
    int64_t saved = 0;
    for (const int v : unit.out) {
      if (first_reader_[v] < 0 && !graph_.pinned[v]) return false;
      saved += graph_.bytes[v];
    }
    for (const int v : unit.in) {
      const bool stays =
          graph_.pinned[v] || (last_reader_[v] >= 0 && label_[last_reader_[v]] >= label_[place]);
      saved -= stays ? 0 : graph_.bytes[v];
    }
    return saved >= 0;
  }

  int first_reader_of(int u) const {
    int first = end_;
    for (const int v : graph_.units[u].out) {
      const int reader = first_reader_[v];
      if (reader >= 0 && (first == end_ || label_[reader] < label_[first])) first = reader;
    }
    return first;
  }

  void insert(int u, int place) {
    const int before = before_[place];
    if (before >= 0 && label_[place] - label_[before] < 2) relabel();
    label_[u] = before >= 0 ? label_[before] + (label_[place] - label_[before]) / 2
                            : label_[place] - kApart;
    next_[u] = place;
    before_[u] = before;
    before_[place] = u;
    (before >= 0 ? next_[before] : first_) = u;
  }

  void relabel() {
    int64_t label = 0;
    for (int u = first_; u != end_; u = next_[u]) label_[u] = label += kApart;
    label_[end_] = label + kApart;
  }

  static constexpr int64_t kApart = int64_t{1} << 32;

  const UnitGraph& graph_;
  const std::vector<int>& sequence_;
  std::vector<int> next_, before_;  // By unit, and one for the end.
  std::vector<int64_t> label_;
  int end_, first_;
  std::vector<int> first_reader_, last_reader_;  // By value, of those that have a place.
  int last_section_ = 0;
};

}  // namespace

std::vector<int> late_order(const UnitGraph& graph, const std::vector<int>& sequence) {
  return LateOrder(graph, sequence).run();
}

}  // namespace snug
