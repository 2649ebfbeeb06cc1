// plan_problem FILE --budget BYTES [--schedule FILE]: the plan of a problem that is kept as text
// (snug/plan/problem_file.h), with what it costs and what no plan can beat.

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "snug/base/error.h"
#include "snug/plan/bounds.h"
#include "snug/plan/plan.h"
#include "snug/plan/problem_file.h"

namespace snug {
namespace {

struct Arguments {
  std::string file, schedule;
  int64_t budget_bytes = -1;
};

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool has_next = i + 1 < argc;
    if (word == "--budget" && has_next) {
      arguments.budget_bytes = std::atoll(argv[++i]);
    } else if (word == "--schedule" && has_next) {
      arguments.schedule = argv[++i];
    } else if (arguments.file.empty() && word[0] != '-') {
      arguments.file = word;
    } else {
      throw Error(
          "unknown argument '{}'; usage: plan_problem FILE --budget BYTES [--schedule FILE]", word);
    }
  }
  if (arguments.file.empty() || arguments.budget_bytes < 0) {
    throw Error("usage: plan_problem FILE --budget BYTES [--schedule FILE]");
  }
  return arguments;
}

// Lines `place VALUE OFFSET` before the step that writes a value, `run NODE`, and `drop VALUE`
// after its last reader.
void write_schedule(const Plan& plan, const std::string& path) {
  std::ofstream out(path);
  if (!out) throw FileError("{}: cannot be written; choose another place for --schedule", path);
  const int steps = static_cast<int>(plan.steps.size());
  std::vector<std::vector<int>> drops(steps + 1);
  std::vector<char> made(plan.buffers.size(), 0);
  for (const PlanStep& step : plan.steps) {
    for (const int b : step.out) made[b] = 1;
  }
  for (size_t b = 0; b < plan.buffers.size(); ++b) {
    const Buffer& buffer = plan.buffers[b];
    if (!made[b]) out << fmt::format("place {} {}\n", buffer.value, buffer.offset);
    drops[std::min(buffer.last_step, steps)].push_back(static_cast<int>(b));
  }
  for (int t = 0; t < steps; ++t) {
    const PlanStep& step = plan.steps[t];
    for (const int b : step.out) {
      out << fmt::format("place {} {}\n", plan.buffers[b].value, plan.buffers[b].offset);
    }
    out << fmt::format("run {}\n", step.node);
    for (const int b : drops[t]) out << fmt::format("drop {}\n", plan.buffers[b].value);
  }
}

double cost_of(const Problem& problem, const Plan& plan) {
  double cost = 0;
  for (const PlanStep& step : plan.steps) cost += problem.nodes[step.node].cost_ns;
  return cost;
}

int run(const Arguments& arguments) {
  std::ifstream in(arguments.file);
  if (!in) throw FileError("{}: cannot be read; give a problem file", arguments.file);
  const Problem problem = read_problem(in, arguments.file);
  const UnitGraph graph(problem);
  const Timeline timeline(graph, graph.program());
  const double base = std::max(1e-9, graph.cost_ns(graph.program()));
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  fmt::print("nodes: {}\nunconstrained peak: {}\nleast peak bound: {}\n", problem.nodes.size(),
             timeline.peak(), least_peak(timeline));
  try {
    const Plan plan = make_plan(problem, arguments.budget_bytes);
    const double planning = seconds();
    validate(problem, plan);
    if (!arguments.schedule.empty()) write_schedule(plan, arguments.schedule);
    const double bound = least_cost_ns(timeline, arguments.budget_bytes);
    fmt::print("feasible: yes\nfactor: {:.6f}\nlower bound: {:.6f}\n",
               cost_of(problem, plan) / base, bound / base);
    fmt::print("peak bytes: {}\narena bytes: {}\nplanning seconds: {:.3f}\nvalidated: yes\n",
               plan.max_live_bytes, plan.arena_bytes, planning);
    return 0;
  } catch (const BudgetError& error) {
    const bool impossible = arguments.budget_bytes < least_bytes(graph);
    fmt::print("feasible: {}\nplanning seconds: {:.3f}\nreason: {}\n",
               impossible ? "no" : "not found", seconds(), error.what());
    return 3;
  }
}

}  // namespace
}  // namespace snug

int main(int argc, char** argv) {
  try {
    return snug::run(snug::parse(argc, argv));
  } catch (const snug::Error& error) {
    std::cerr << "plan_problem: " << error.what() << "\n";
    return error.exit_code();
  }
}
