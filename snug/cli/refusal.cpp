#include "snug/cli/refusal.h"

#include <algorithm>
#include <array>

#include "snug/base/bytes.h"
#include "snug/optim/optimizer.h"
#include "snug/train/fit.h"

namespace snug::cli {
namespace {

// More than any machine has, and far from overflow.
constexpr int64_t kNoLimit = int64_t{1} << 60;

// As it is typed after --memory.
std::string typed_bytes(int64_t bytes) {
  std::string text = bytes_text(bytes, Rounding::up);
  std::erase(text, ' ');
  return text;
}

// The least budget that works, to a hundredth, as it can be typed. `enough` works.
std::string least_budget(Model& model, PlanOptions options, int64_t too_little, int64_t enough) {
  while (enough - too_little > enough / 100) {
    options.memory = too_little + (enough - too_little) / 2;
    (plan_if_it_fits(model, options) ? enough : too_little) = options.memory;
  }
  return typed_bytes(enough);
}

// Halves of the batch until one fits.
std::optional<int64_t> smaller_batch(Model& model, PlanOptions options) {
  while (options.batch_size > 1) {
    options.batch_size /= 2;
    if (plan_if_it_fits(model, options)) return options.batch_size;
  }
  return std::nullopt;
}

// An optimizer without moments keeps one or two numbers less for each weight.
bool fits_with_sgd(Session& session, const PlanOptions& options) {
  CompileOptions compile = compile_options(session.run);
  if (compile.optimizer->class_name() == "SGD") return false;
  compile.optimizer = SGD();
  session.model.compile(std::move(compile));
  const bool fits = plan_if_it_fits(session.model, options).has_value();
  session.model.compile(compile_options(session.run));
  return fits;
}

}  // namespace

std::optional<FitPlan> plan_if_it_fits(Model& model, const PlanOptions& options) {
  try {
    FitPlan plan = model.plan(options);
    if (plan.total_bytes() > plan.budget_bytes) return std::nullopt;
    return plan;
  } catch (const BudgetError&) {
    return std::nullopt;
  }
}

FitPlan plan_without_limit(Model& model, PlanOptions options) {
  options.memory = kNoLimit;
  return model.plan(options);
}

std::string largest_part(const FitPlan& plan) {
  const std::array<std::pair<const char*, int64_t>, 5> parts = {
      {{"the weights", plan.weight_bytes},
       {"the optimizer's state", plan.slot_bytes},
       {"activations, gradients and data slots", plan.arena_bytes},
       {"the metrics", plan.metric_bytes},
       {"the program itself", plan.process_bytes + plan.reserve_bytes}}};
  const auto& [name, bytes] =
      *std::ranges::max_element(parts, {}, [](const auto& part) { return part.second; });
  return fmt::format("{} ({})", name, bytes_text(bytes));
}

BudgetError refusal(Session& session, const BudgetError& cause) {
  Model& model = session.model;
  PlanOptions options = session.plan_options();
  options.memory = make_budget(options.memory, /*whole_process=*/true).bytes;
  // A step that fits alone can still be too large together with its validation.
  if (plan_if_it_fits(model, options)) {
    return BudgetError("{}: {}", place_of(session.run, "memory"), cause.what());
  }
  const FitPlan free = plan_without_limit(model, options);
  const int64_t most = free.total_bytes() + free.total_bytes() / 64;
  std::vector<std::string> changes = {"--memory " +
                                      least_budget(model, options, options.memory, most)};
  if (const auto batch = smaller_batch(model, options)) {
    changes.push_back(fmt::format("--batch-size {}", *batch));
  }
  if (fits_with_sgd(session, options)) changes.push_back("fit.optimizer=sgd");
  return BudgetError(
      "{}: it does not fit the budget of {}: batches of {} rows take {} at their fastest, and the "
      "largest part is {}; it fits with {}",
      place_of(session.run, "memory"), bytes_text(options.memory), options.batch_size,
      bytes_text(free.total_bytes()), largest_part(free), fmt::join(changes, ", or with "));
}

}  // namespace snug::cli
