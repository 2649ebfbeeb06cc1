#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "snug/base/bytes.h"
#include "snug/base/error.h"
#include "snug/plan/plan.h"
#include "snug/plan/squeezer.h"

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

[[noreturn]] void refuse(const Problem& problem, int64_t least, int64_t budget_bytes) {
  throw BudgetError(
      "plan: the step needs {} bytes (arena {} + persistent {}), but the budget is {}; largest: "
      "{}; the least budget that works is {} bytes ({}): give at least that, or lower the batch "
      "size",
      least, least - problem.persistent_bytes, problem.persistent_bytes, budget_bytes,
      largest_values(problem), least, bytes_text(least));
}

}  // namespace

Plan make_plan(const Problem& problem, int64_t budget_bytes) {
  Squeezer squeezer(problem);
  const int64_t capacity = budget_bytes - problem.persistent_bytes;
  if (auto plan = squeezer.plan(capacity, Effort::thorough)) return std::move(*plan);
  refuse(problem, least_plans({&squeezer, 1}).least.budget_bytes, budget_bytes);
}

}  // namespace snug
