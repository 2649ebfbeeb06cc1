#include "snug/plan/early_order.h"

#include <cstdint>

#include "snug/plan/order_list.h"

namespace snug {
namespace {

// Made from its beginning to its end.
class EarlyOrder {
 public:
  EarlyOrder(const UnitGraph& graph, const std::vector<int>& sequence)
      : graph_(graph),
        sequence_(sequence),
        list_(graph.units.size()),
        readers_(graph.bytes.size(), 0),
        maker_(graph.bytes.size(), -1),
        last_(graph.bytes.size(), -1) {
    for (const int u : sequence) {
      for (const int v : graph.units[u].in) ++readers_[v];
    }
  }

  std::vector<int> run() {
    for (const int u : sequence_) {
      list_.insert_before(u, place_of(u));
      const Unit& unit = graph_.units[u];
      for (const int v : unit.in) {
        --readers_[v];
        if (last_[v] < 0 || list_.is_before(last_[v], u)) last_[v] = u;
      }
      for (const int v : unit.out) maker_[v] = last_[v] = u;
    }
    return list_.order();
  }

 private:
  bool ends(int value) const { return readers_[value] == 1 && !graph_.pinned[value]; }

  // What it ends must have no reader behind it, and what it reads must be there.
  int place_of(int u) const {
    const Unit& unit = graph_.units[u];
    int64_t freed = 0;
    int latest = -1;
    for (const int v : unit.in) {
      freed += ends(v) ? graph_.bytes[v] : 0;
      const int other = ends(v) ? last_[v] : maker_[v];
      if (other >= 0 && (latest < 0 || list_.is_before(latest, other))) latest = other;
    }
    for (const int v : unit.out) freed -= graph_.bytes[v];
    const bool may = unit.pure && latest >= 0 && graph_.units[latest].section == unit.section;
    return may && freed > 0 && graph_.units[latest].pure ? list_.next(latest) : list_.end();
  }

  const UnitGraph& graph_;
  const std::vector<int>& sequence_;
  OrderList list_;
  std::vector<int> readers_;       // By value: of those that have no place yet.
  std::vector<int> maker_, last_;  // By value, of those that have: who makes it, touches it last.
};

}  // namespace

std::vector<int> early_order(const UnitGraph& graph, const std::vector<int>& sequence) {
  return EarlyOrder(graph, sequence).run();
}

}  // namespace snug
