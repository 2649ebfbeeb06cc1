#include "snug/plan/late_order.h"

#include <algorithm>
#include <cstdint>

#include "snug/plan/order_list.h"

namespace snug {
namespace {

// Made from its end to its beginning.
class LateOrder {
 public:
  LateOrder(const UnitGraph& graph, const std::vector<int>& sequence)
      : graph_(graph),
        sequence_(sequence),
        list_(graph.units.size()),
        first_reader_(graph.bytes.size(), -1),
        last_reader_(graph.bytes.size(), -1) {
    for (const int u : sequence)
      last_section_ =
          std::max(last_section_, graph.units[u].section + (graph.units[u].pure ? 0 : 1));
  }

  std::vector<int> run() {
    for (auto u = sequence_.rbegin(); u != sequence_.rend(); ++u) {
      const int reader = first_reader_of(*u);
      const bool moves = may_move(*u, reader) && waits(*u, reader);
      list_.insert_before(*u, moves ? reader : list_.first());
      for (const int v : graph_.units[*u].in) {
        int &first = first_reader_[v], &last = last_reader_[v];
        if (first < 0 || list_.is_before(*u, first)) first = *u;
        if (last < 0 || list_.is_before(last, *u)) last = *u;
      }
    }
    return list_.order();
  }

 private:
  bool may_move(int u, int place) const {
    const int section = place == list_.end() ? last_section_ : graph_.units[place].section;
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
          graph_.pinned[v] || (last_reader_[v] >= 0 && !list_.is_before(last_reader_[v], place));
      saved -= stays ? 0 : graph_.bytes[v];
    }
    return saved >= 0;
  }

  int first_reader_of(int u) const {
    int first = list_.end();
    for (const int v : graph_.units[u].out) {
      const int reader = first_reader_[v];
      if (reader >= 0 && list_.is_before(reader, first)) first = reader;
    }
    return first;
  }

  const UnitGraph& graph_;
  const std::vector<int>& sequence_;
  OrderList list_;
  std::vector<int> first_reader_, last_reader_;  // By value, of those that have a place.
  int last_section_ = 0;
};

}  // namespace

std::vector<int> late_order(const UnitGraph& graph, const std::vector<int>& sequence) {
  return LateOrder(graph, sequence).run();
}

}  // namespace snug
