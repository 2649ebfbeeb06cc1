#include "snug/plan/known_steps.h"

#include <bit>
#include <map>
#include <utility>

#include "snug/plan/fit_budget.h"

namespace snug {
namespace {

thread_local PlanningScope* planning_scope = nullptr;
thread_local std::map<uint64_t, KnownStep> known;
thread_local int least_searches = 0;

}  // namespace

KnownStep* known_step(uint64_t fingerprint) {
  return planning_scope != nullptr ? &known[fingerprint] : nullptr;
}

void count_least_search() { ++least_searches; }

PlanningScope::PlanningScope() : outer_(std::exchange(planning_scope, this)) {}

PlanningScope::~PlanningScope() {
  planning_scope = outer_;
  if (outer_ == nullptr) forget();
}

void PlanningScope::forget() { known.clear(); }

int PlanningScope::least_searches() { return snug::least_searches; }

void Fingerprint::add(double number) { mix(std::bit_cast<uint64_t>(number)); }

void Fingerprint::add(const std::vector<int>& numbers) {
  mix(numbers.size());
  for (const int number : numbers) mix(static_cast<uint64_t>(number));
}

void Fingerprint::add(const Problem& problem) {
  add(problem.persistent_bytes, problem.alignment, problem.values.size(), problem.nodes.size());
  for (const ProblemValue& v : problem.values)
    add(v.bytes, v.part_bytes, v.given, v.pinned, v.paged);
  for (const ProblemNode& n : problem.nodes) {
    add(n.in);
    add(n.out);
    for (const Overwrite& o : n.overwrites) add(o.output, o.input);
    add(n.cost_ns);
    add(n.scratch_bytes, n.stage, n.recomputable);
  }
  for (const Stage& stage : problem.stages) add(stage.parts, stage.lanes);
}

}  // namespace snug
