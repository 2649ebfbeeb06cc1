#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "snug/base/error.h"
#include "snug/plan/bounds.h"
#include "snug/plan/bytes_text.h"
#include "snug/plan/layout.h"
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

// A plan within the capacity that computes some values again, or nothing when none was found.
std::optional<Plan> squeeze(const Problem& problem, const UnitGraph& graph, int64_t capacity) {
  int64_t limit = capacity;
  for (int i = 0; i < kTries && limit > 0; ++i) {
    const auto sequence = recompute(graph, graph.program(), limit);
    if (!sequence) return {};
    Plan plan = lay_out(problem, graph.schedule(*sequence), capacity);
    if (plan.arena_bytes <= capacity) return plan;
    limit -= plan.arena_bytes - capacity;
  }
  return {};
}

// The lowest capacity that was found to work, to within a hundredth, so that a budget of two
// hundredths less does not; `works` is one that does.
int64_t least_capacity(const Problem& problem, const UnitGraph& graph, int64_t low, int64_t works) {
  const int64_t floor = low;
  for (;;) {
    while (low + low / 100 + kAlignment < works) {
      const int64_t middle = low + (works - low) / 2;
      (squeeze(problem, graph, middle) ? works : low) = middle;
    }
    const int64_t less = (works + problem.persistent_bytes) * 98 / 100 - problem.persistent_bytes;
    if (less < floor || !squeeze(problem, graph, less)) return works;
    works = less;
    low = floor;
  }
}

}  // namespace

Plan make_plan(const Problem& problem, int64_t budget_bytes) {
  const int64_t capacity = budget_bytes - problem.persistent_bytes;
  Plan plan = lay_out(problem, program_order(problem), capacity);
  if (plan.arena_bytes <= capacity) return plan;
  const UnitGraph graph(problem);
  if (std::optional<Plan> squeezed = squeeze(problem, graph, capacity)) return std::move(*squeezed);
  const int64_t low = std::max(capacity, least_peak(Timeline(graph, graph.program())));
  refuse(problem, least_capacity(problem, graph, low, plan.arena_bytes), budget_bytes);
}

}  // namespace snug
