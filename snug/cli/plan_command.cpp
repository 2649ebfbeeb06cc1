#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "snug/base/bytes.h"
#include "snug/cli/command.h"
#include "snug/cli/refusal.h"
#include "snug/cli/session.h"
#include "snug/train/fit.h"

namespace snug::cli {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const FitPlan& plan) {
  return {{"batch_size", plan.batch_size},      {"total_bytes", plan.total_bytes()},
          {"budget_bytes", plan.budget_bytes},  {"weight_bytes", plan.weight_bytes},
          {"optimizer_bytes", plan.slot_bytes}, {"metric_bytes", plan.metric_bytes},
          {"arena_bytes", plan.arena_bytes},    {"process_bytes", plan.process_bytes},
          {"reserve_bytes", plan.reserve_bytes}};
}

int print_one(Session& session, const Arguments& arguments) {
  const PlanOptions options = session.plan_options();
  const std::optional<FitPlan> plan = [&]() -> std::optional<FitPlan> {
    try {
      return placed(session.run.file, [&] { return session.model.plan(options); });
    } catch (const BudgetError& error) {
      throw refusal(session, error);
    }
  }();
  if (arguments.json) {
    Json json = {{"command", arguments.command}, {"exit", 0}};
    json.update(json_of(*plan));
    fmt::print("{}\n", json.dump());
  } else {
    fmt::print("{}", plan->text());
    fmt::print("\nIt fits. Next: snug fit {}\n", arguments.run_file);
  }
  return 0;
}

// The largest batch that fits, between one that does (0: none is known) and the rows there are.
int64_t largest_batch(Session& session, PlanOptions options, int64_t fits, int64_t rows) {
  const auto tried = [&](int64_t batch_size) {
    options.batch_size = batch_size;
    return plan_if_it_fits(session.model, options).has_value();
  };
  int64_t fails = rows + 1;
  for (int64_t batch = std::max<int64_t>(1, 2 * fits); batch <= rows; batch *= 2) {
    if (!tried(batch)) {
      fails = batch;
      break;
    }
    fits = batch;
  }
  while (fails - fits > 1) {
    const int64_t middle = fits + (fails - fits) / 2;
    (tried(middle) ? fits : fails) = middle;
  }
  return fits;
}

int print_list(Session& session, const Arguments& arguments) {
  PlanOptions options = session.plan_options();
  options.memory = make_budget(options.memory, /*whole_process=*/true).bytes;
  const int64_t rows = session.data->rows().value_or(int64_t{1} << 20);
  Json lines = Json::array();
  int64_t largest = 0;
  if (!arguments.json)
    fmt::print("batch size        memory  fits {}\n", bytes_text(options.memory));
  for (const int64_t batch_size : arguments.batch_sizes) {
    options.batch_size = batch_size;
    const std::optional<FitPlan> plan = plan_if_it_fits(session.model, options);
    const FitPlan shown = plan ? *plan : plan_without_limit(session.model, options);
    if (plan && batch_size <= rows) largest = std::max(largest, batch_size);
    Json line = json_of(shown);
    line["fits"] = plan.has_value();
    lines.push_back(line);
    if (arguments.json) continue;
    fmt::print("{:>10}  {:>12}  {}\n", batch_size, bytes_text(shown.total_bytes()),
               plan ? "yes" : "no; the largest part is " + largest_part(shown));
  }
  largest = largest_batch(session, options, largest, rows);
  if (arguments.json) {
    const Json json = {{"command", "plan"},
                       {"exit", 0},
                       {"budget_bytes", options.memory},
                       {"plans", lines},
                       {"largest_batch_size", largest}};
    fmt::print("{}\n", json.dump());
  } else if (largest == rows) {
    fmt::print("The largest batch that fits: {}, all rows of the data\n", largest);
  } else if (largest > 0) {
    fmt::print("The largest batch that fits: {}\n", largest);
  } else {
    fmt::print("No batch fits, not even one row\n");
  }
  return 0;
}

}  // namespace

int plan_command(const Arguments& arguments) {
  Session session = open_session(arguments);
  return arguments.batch_sizes.empty() ? print_one(session, arguments)
                                       : print_list(session, arguments);
}

}  // namespace snug::cli
