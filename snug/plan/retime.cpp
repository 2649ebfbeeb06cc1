#include "snug/plan/retime.h"

#include "snug/plan/early_order.h"
#include "snug/plan/executions.h"
#include "snug/plan/late_order.h"

namespace snug {

std::vector<int> retimed(const UnitGraph& graph, const std::vector<int>& sequence) {
  const UnitGraph executions = executions_of(graph, sequence);
  std::vector<int> order = late_order(executions, early_order(executions, executions.program()));
  for (int& execution : order) execution = sequence[execution];
  return order;
}

}  // namespace snug
