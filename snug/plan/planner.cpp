#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "snug/base/error.h"
#include "snug/plan/bounds.h"
#include "snug/base/bytes.h"
#include "snug/plan/exhaustive.h"
#include "snug/plan/layout.h"
#include "snug/plan/order.h"
#include "snug/plan/plan.h"
#include "snug/plan/recompute.h"

namespace snug {
namespace {

std::string largest_values(const Problem& problem) {
  std::vector<int> order(problem.values.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return problem.values[a].bytes > problem.values[b].bytes; });
  std::string text;
  for (size_t i = 0; i < std::min<size_t>(3, order.size()); ++i) {
    const ProblemValue& value = problem.values[order[i]];
    text += fmt::format("{}{} ({})", i ? ", " : "", value.name, bytes_text(value.bytes));
  }
  return text.empty() ? "no values" : text;
}

[[noreturn]] void refuse(const Problem& problem, int64_t arena_bytes, int64_t budget_bytes) {
  const int64_t least = arena_bytes + problem.persistent_bytes;
  throw BudgetError(
      "plan: the step needs {} bytes (arena {} + persistent {}), but the budget is {}; largest: "
      "{}; the least budget that works is {} bytes ({}): give at least that, or lower the batch "
      "size",
      least, arena_bytes, problem.persistent_bytes, budget_bytes, largest_values(problem), least,
      bytes_text(least));
}

// Live bytes can be brought under the capacity and the offsets still miss it: then the live bytes
// get that much less.
constexpr int kTries = 4;

// The cheapest sequence that was found within the limit: the truth for a small problem; else the
// program's order, and another one if that lowers the peak.
std::optional<std::vector<int>> find_sequence(const UnitGraph& graph, int64_t limit,
                                              Effort effort) {
  const ExhaustiveResult truth = search_exhaustively(graph, limit);
  if (truth.complete) return truth.sequence;
  std::optional<std::vector<int>> best = recompute(graph, graph.program(), limit, effort);
  if (best && effort == Effort::quick) return best;
  const std::vector<int> order = best_order(graph);
  if (order == graph.program()) return best;
  std::optional<std::vector<int>> other = recompute(graph, order, limit, effort);
  if (!best || (other && graph.cost_ns(*other) < graph.cost_ns(*best))) best = std::move(other);
  return best;
}

// A plan within the capacity that reorders or computes again, or nothing when none was found.
std::optional<Plan> squeeze(const Problem& problem, const UnitGraph& graph, int64_t capacity,
                            Effort effort) {
  int64_t limit = capacity;
  for (int i = 0; i < kTries && limit > 0; ++i) {
    const auto sequence = find_sequence(graph, limit, effort);
    if (!sequence) return {};
    Plan plan = lay_out(problem, graph.schedule(*sequence), capacity, Aim::capacity);
    if (plan.arena_bytes <= capacity) return plan;
    limit -= plan.arena_bytes - capacity;
  }
  return {};
}

// The cheap plan if there is one, else any: what `least_capacity` has found to work, works here
// too.
std::optional<Plan> squeeze_hard(const Problem& problem, const UnitGraph& graph, int64_t capacity) {
  std::optional<Plan> plan = squeeze(problem, graph, capacity, Effort::full);
  return plan ? std::move(plan) : squeeze(problem, graph, capacity, Effort::quick);
}

// The lowest capacity that was found to work, to within a hundredth, so that a budget of two
// hundredths less does not; `works` is one that does.
int64_t least_capacity(const Problem& problem, const UnitGraph& graph, int64_t low, int64_t works) {
  const int64_t floor = low;
  for (;;) {
    while (low + low / 100 + kAlignment < works) {
      const int64_t middle = low + (works - low) / 2;
      (squeeze(problem, graph, middle, Effort::quick) ? works : low) = middle;
    }
    const int64_t less = (works + problem.persistent_bytes) * 98 / 100 - problem.persistent_bytes;
    if (less < floor || !squeeze_hard(problem, graph, less)) return works;
    works = less;
    low = std::max(floor, less - less / 20);
  }
}

}  // namespace

Plan make_plan(const Problem& problem, int64_t budget_bytes) {
  const int64_t capacity = budget_bytes - problem.persistent_bytes;
  Plan plan = lay_out(problem, program_order(problem), capacity, Aim::lowest);
  if (plan.arena_bytes <= capacity) return plan;
  const UnitGraph graph(problem);
  if (auto squeezed = squeeze_hard(problem, graph, capacity)) return std::move(*squeezed);
  const int64_t low = std::max(capacity, least_bytes(graph));
  refuse(problem, least_capacity(problem, graph, low, plan.arena_bytes), budget_bytes);
}

}  // namespace snug
