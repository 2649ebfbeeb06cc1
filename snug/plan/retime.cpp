#include "snug/plan/retime.h"

#include "snug/plan/early_order.h"
#include "snug/plan/late_order.h"

namespace snug {
namespace {

// Each execution as a unit that runs once, each copy as a value of its own.
class Executions {
 public:
  Executions(const UnitGraph& graph, const std::vector<int>& sequence)
      : graph_(graph), copy_(graph.bytes.size(), -1) {
    for (int v = 0; v < static_cast<int>(copy_.size()); ++v) {
      if (graph.given[v]) add_copy(v);
    }
    for (const int u : sequence) add_execution(graph.units[u]);
    for (size_t v = 0; v < copy_.size(); ++v) {
      if (graph.pinned[v] && copy_[v] >= 0) result_.pinned[copy_[v]] = 1;
    }
    result_.program_size = static_cast<int>(sequence.size());
  }

  UnitGraph take() { return std::move(result_); }

 private:
  int add_copy(int value) {
    result_.bytes.push_back(graph_.bytes[value]);
    result_.given.push_back(graph_.given[value]);
    result_.pinned.push_back(0);
    return copy_[value] = static_cast<int>(result_.bytes.size()) - 1;
  }

  void add_execution(const Unit& unit) {
    Unit execution{.section = unit.section};
    execution.pure = unit.pure;
    for (const int v : unit.in) execution.in.push_back(copy_[v]);
    for (const int v : unit.out) execution.out.push_back(add_copy(v));
    result_.units.push_back(std::move(execution));
  }

  const UnitGraph& graph_;
  std::vector<int> copy_;  // By value: the newest.
  UnitGraph result_;
};

}  // namespace

std::vector<int> retimed(const UnitGraph& graph, const std::vector<int>& sequence) {
  const UnitGraph executions = Executions(graph, sequence).take();
  std::vector<int> order = late_order(executions, early_order(executions, executions.program()));
  for (int& execution : order) execution = sequence[execution];
  return order;
}

}  // namespace snug
