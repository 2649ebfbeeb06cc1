#include "snug/train/runner.h"

#include <algorithm>

#include "snug/base/error.h"
#include "snug/plan/fuse.h"

namespace snug {

Runner::Runner(StepGraph step, const std::vector<int64_t>& rows, const RunnerOptions& options)
    : step_(std::move(step)) {
  const Values results = step_.results();
  if (options.fuse) fused_ = snug::fuse(*step_.graph, results);
  const Graph& graph = fused_ ? *fused_ : *step_.graph;
  InstantiateOptions instantiate;
  instantiate.keep_all = options.keep_all;
  if (options.borrow_inputs) {
    instantiate.borrowed = step_.inputs;
    instantiate.borrowed.insert(instantiate.borrowed.end(), step_.targets.begin(),
                                step_.targets.end());
  }
  for (const int64_t count : rows) {
    PlannedStep planned =
        plan_within(graph, results, count, options.target, options.budget_bytes, instantiate);
    programs_.push_back(
        std::make_unique<Program>(graph, std::move(planned.instance), std::move(planned.plan)));
  }
}

size_t Runner::arena_bytes() const {
  size_t bytes = 0;
  for (const auto& program : programs_) bytes = std::max(bytes, program->arena_bytes());
  return bytes;
}

int64_t Runner::variable_bytes() const {
  int64_t bytes = 0;
  for (const auto& [variable, value] : step_.variables)
    bytes += static_cast<int64_t>(variable->type().bytes());
  return bytes;
}

Program& Runner::program(int64_t rows) {
  for (const auto& program : programs_) {
    if (program->rows() == rows) return *program;
  }
  throw InternalError("no program was planned for {} rows", rows);
}

void Runner::bind(std::byte* arena) {
  std::vector<void*> outside(step_.graph->value_count());
  for (const auto& [variable, value] : step_.variables)
    outside[value.id()] = variable->tensor().data;
  for (const auto& program : programs_) program->bind(arena, outside);
}

}  // namespace snug
