#include <algorithm>
#include <cstdio>
#include <sstream>
#include <utility>

#include "snug/base/bytes.h"
#include "snug/base/memory.h"
#include "snug/base/threads.h"
#include "snug/cli/command.h"
#include "snug/cli/json_text.h"
#include "snug/cli/line_settings.h"
#include "snug/cli/own_files.h"
#include "snug/cli/run_callbacks.h"
#include "snug/cli/session.h"
#include "snug/plan/curve.h"
#include "snug/plan/memory_map.h"
#include "snug/plan/problem_file.h"
#include "snug/plan/transfers.h"
#include "snug/train/fit_trials.h"
#include "snug/train/progress.h"

namespace snug::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kDoesNotFit = 3;

Json json_of(const FitPlan& plan) {
  return {{"batch_size", plan.batch_size},       {"total_bytes", plan.total_bytes()},
          {"budget_bytes", plan.budget_bytes},   {"weight_bytes", plan.weight_bytes},
          {"optimizer_bytes", plan.slot_bytes},  {"metric_bytes", plan.metric_bytes},
          {"arena_bytes", plan.arena_bytes},     {"process_bytes", plan.process_bytes},
          {"reserve_bytes", plan.reserve_bytes}, {"source_bytes", plan.source_bytes},
          {"ahead_bytes", plan.ahead_bytes},     {"callback_bytes", plan.callback_bytes},
          {"kernel_bytes", plan.kernel_bytes},   {"step_ns", plan.tried_ns},
          {"measured", plan.is_measured}};
}

// What a run can have on this machine.
int64_t memory_here() { return resident_bytes() + available_memory().default_budget_bytes(); }

// Goes as far as a fit does before its first step, and makes a few, so that what it says was
// measured, and is what fit will say; only for another machine, which has more memory than this
// one, it stays an estimate.
FitPlan measured_plan(Session& session) {
  const int64_t here = memory_here();
  if (session.fit.memory > here) {
    FitPlan plan = plan_of(session);
    if (plan.needed_bytes() > here) return plan;
  }
  const std::unique_ptr<FitRun> fit = make_fit(session);
  fit->time_steps();
  return fit->plan();
}

void write_text(const Path& path, const std::string& text) {
  write_atomically(real_files(), path,
                   [&](File& file) { file.append(std::as_bytes(std::span(text))); });
}

Json json_of(std::span<const CurvePoint> curve) {
  Json points = Json::array();
  for (const CurvePoint& point : curve) {
    points.push_back({{"budget_bytes", point.budget_bytes},
                      {"step_ns", point.step_ns},
                      {"part_rows", point.part_rows},
                      {"computed_again", point.again},
                      {"spilled_bytes", point.spilled_bytes}});
  }
  return points;
}

// Trials are weighed by what is known of the machine.
void measure_machine(const FitOptions& options) {
  SpillOptions spill = options.spill;
  const bool spills = spill_limits(spill).allowed;
  measured_costs(options.threads > 0 ? options.threads : hardware_threads(), spill, spills);
}

// Before anything else: each budget is tried as a process that begins would meet it.
std::vector<CurvePoint> curve_of(Session& session) {
  constexpr int kPoints = 13;
  FitOptions& options = session.fit;
  const int64_t memory = std::exchange(options.memory, 1);  // So that the least is looked for.
  const Budget budget = fit_budget(session.model, session.data, options);
  measure_machine(options);
  std::vector<CurvePoint> curve =
      FitTrials(session.model, session.data, options, budget).curve(kPoints);
  forget_tries(budget);
  options.memory = memory;
  return curve;
}

// The files that were asked for.
void write_files(const FitPlan& plan, std::span<const CurvePoint> curve,
                 const Arguments& arguments) {
  const Program& program = *plan.training->programs().at(0);
  const std::string title =
      fmt::format("{}, batches of {} rows", arguments.run_file, plan.batch_size);
  if (!arguments.problem_file.empty()) {
    std::ostringstream text;
    write_problem(without_transfers(program.problem()), text);
    write_text(arguments.problem_file, text.str());
  }
  if (!arguments.html_file.empty())
    write_text(arguments.html_file, memory_map_html(program.problem(), program.plan(), title));
  if (!arguments.curve_file.empty()) write_text(arguments.curve_file, curve_svg(curve, title));
}

// What a plan needs is no budget that would do: with less, planning itself has less, and finds
// another one. Those of the curve were tried.
std::string next_text(const Arguments& arguments, const FitPlan& plan, bool has_curve) {
  const std::string next = suggestion(arguments, "fit");
  std::string text = fmt::format("It fits. Next: {}\n", next);
  // One of another machine's: see measured_plan.
  if (!plan.is_measured) {
    text =
        fmt::format("It fits, but not this machine, which leaves {}. Next, on one with more: {}\n",
                    bytes_text(memory_here()), next);
  }
  if (has_curve) return text;
  return text + fmt::format("How little memory would do, and what it costs: {} --curve curve.svg\n",
                            suggestion(arguments, "plan"));
}

int print_one(Session& session, const Arguments& arguments) {
  std::vector<CurvePoint> curve;
  if (!arguments.curve_file.empty()) curve = curve_of(session);
  const FitPlan plan = measured_plan(session);
  write_files(plan, curve, arguments);
  if (arguments.json) {
    Json json = {{"command", arguments.command}, {"exit", 0}};
    json.update(json_of(plan));
    if (!curve.empty()) json["curve"] = json_of(curve);
    fmt::print("{}\n", json_text(json));
  } else {
    fmt::print("{}", plan.text());
    if (!curve.empty()) fmt::print("\n{}", curve_text(curve));
    fmt::print("\n{}", next_text(arguments, plan, !curve.empty()));
  }
  return 0;
}

// The largest batch that fits, between one that does (0: none is known) and the rows there are.
int64_t largest_batch(FitTrials& trials, int64_t budget_bytes, int64_t fits, int64_t rows) {
  const auto tried = [&](int64_t batch_size) {
    return trials.within(budget_bytes, {.batch_size = batch_size}).has_value();
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

// What there is to say behind the lines.
std::string largest_text(const Arguments& arguments, int64_t largest, int64_t rows) {
  if (largest == rows)
    return fmt::format("The largest batch that fits: {}, all rows of the data", largest);
  if (largest > 0) return fmt::format("The largest batch that fits: {}", largest);
  const Override one{.path = "fit.batch_size", .value = "1", .place = "--batch-size 1"};
  return fmt::format("No batch fits, not even one row; with which budget it would, this says: {}",
                     suggestion(arguments, "plan", {one}));
}

// One that fits is enough.
int print_list(Session& session, const Arguments& arguments) {
  const Budget budget = fit_budget(session.model, session.data, session.fit);
  FitTrials trials(session.model, session.data, session.fit, budget);
  const int64_t rows = session.data->rows().value_or(int64_t{1} << 20);
  Json lines = Json::array();
  int64_t largest = 0;
  int exit = kDoesNotFit;
  if (!arguments.json) fmt::print("batch size        memory  fits {}\n", bytes_text(budget.bytes));
  for (const int64_t batch_size : arguments.batch_sizes) {
    const FitChange change{.batch_size = batch_size};
    std::optional<FitPlan> plan = trials.within(budget.bytes, change);
    const bool fits = plan.has_value();
    if (fits) exit = 0;
    if (!fits) plan = trials.unlimited(change);
    if (fits && batch_size <= rows) largest = std::max(largest, batch_size);
    Json line = json_of(*plan);
    line["fits"] = fits;
    lines.push_back(line);
    if (arguments.json) continue;
    fmt::print("{:>10}  {:>12}  {}\n", batch_size, bytes_text(plan->asked_bytes, Rounding::up),
               fits ? "yes" : "no; the largest part is " + plan->largest_part());
  }
  largest = largest_batch(trials, budget.bytes, largest, rows);
  if (arguments.json) {
    const Json json = {{"command", "plan"},
                       {"exit", exit},
                       {"budget_bytes", budget.bytes},
                       {"plans", lines},
                       {"largest_batch_size", largest}};
    fmt::print("{}\n", json_text(json));
  } else {
    fmt::print("{}\n", largest_text(arguments, largest, rows));
  }
  return exit;
}

// The files that are asked for, each with its option.
std::vector<std::pair<std::string, Path>> wanted_files(const Arguments& arguments) {
  std::vector<std::pair<std::string, Path>> files = {{"--curve", arguments.curve_file},
                                                     {"--html", arguments.html_file},
                                                     {"--dump-problem", arguments.problem_file}};
  std::erase_if(files, [](const auto& file) { return file.second.empty(); });
  return files;
}

// What is drawn or written is one plan.
void expect_one_plan(const Arguments& arguments) {
  if (arguments.batch_sizes.empty()) return;
  for (const auto& [option, file] : wanted_files(arguments))
    throw Error("{} {}: it is of one batch size, and --batch-size gives {}; give one of them",
                option, file.string(), arguments.batch_sizes.size());
}

}  // namespace

int plan_command(const Arguments& arguments) {
  expect_one_plan(arguments);
  Session session = open_session(arguments);
  for (const auto& [option, file] : wanted_files(arguments))
    refuse_own_files(session.run, option, {file});
  add_callbacks(session);
  session.fit.verbose = arguments.is_watched() ? 1 : 0;
  const PlanningNotice notice = planning_notice(session.fit.verbose);
  return arguments.batch_sizes.empty() ? print_one(session, arguments)
                                       : print_list(session, arguments);
}

}  // namespace snug::cli
