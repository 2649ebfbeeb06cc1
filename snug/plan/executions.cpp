#include "snug/plan/executions.h"

#include <utility>

namespace snug {
namespace {

class Executions {
 public:
  Executions(const UnitGraph& graph, const std::vector<int>& sequence)
      : graph_(graph), copy_(graph.bytes.size(), -1) {
    for (int v = 0; v < static_cast<int>(copy_.size()); ++v) {
      if (graph.given[v]) add_copy(v, -1);
    }
    for (const int u : sequence) add_execution(graph.units[u]);
    for (size_t v = 0; v < copy_.size(); ++v) {
      if (graph.pinned[v] && copy_[v] >= 0) result_.pinned[copy_[v]] = 1;
    }
    result_.program_size = static_cast<int>(sequence.size());
  }

  UnitGraph take() { return std::move(result_); }

 private:
  int add_copy(int value, int producer) {
    result_.bytes.push_back(graph_.bytes[value]);
    result_.given.push_back(graph_.given[value]);
    result_.pinned.push_back(0);
    result_.producer.push_back(producer);
    return copy_[value] = static_cast<int>(result_.bytes.size()) - 1;
  }

  void add_execution(const Unit& unit) {
    Unit execution{.extra_bytes = unit.extra_bytes, .cost_ns = unit.cost_ns};
    execution.pure = unit.pure;
    execution.section = unit.section;
    for (const int v : unit.in) execution.in.push_back(copy_[v]);
    const int number = static_cast<int>(result_.units.size());
    for (const int v : unit.out) execution.out.push_back(add_copy(v, number));
    result_.units.push_back(std::move(execution));
  }

  const UnitGraph& graph_;
  std::vector<int> copy_;  // By value: the newest.
  UnitGraph result_;
};

}  // namespace

UnitGraph executions_of(const UnitGraph& graph, const std::vector<int>& sequence) {
  return Executions(graph, sequence).take();
}

}  // namespace snug
