// plan_problem FILE --budget BYTES [--schedule FILE]: the plan of a problem that is kept as text
// (snug/plan/problem_file.h), with what it costs and what no plan can beat.

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <ctime>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "snug/base/error.h"
#include "snug/plan/bounds.h"
#include "snug/plan/plan.h"
#include "snug/plan/problem_file.h"
#include "snug/plan/squeezer.h"

namespace snug {
namespace {

struct Arguments {
  std::string file, schedule;
  int64_t budget_bytes = -1;
};

// -1: it is none.
int64_t whole_number(const std::string& word) {
  int64_t number = -1;
  const char* const end = word.data() + word.size();
  const auto [stopped, error] = std::from_chars(word.data(), end, number);
  return error == std::errc() && stopped == end ? number : -1;
}

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool has_next = i + 1 < argc;
    if (word == "--budget" && has_next) {
      arguments.budget_bytes = whole_number(argv[++i]);
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

// Of the program's time; 1 where that takes none.
double factor(const Problem& problem, double ns) {
  double base = 0;
  for (const ProblemNode& node : problem.nodes) base += node.cost_ns;
  return base > 0 ? ns / base : 1;
}

void print_problem(const Problem& problem, Squeezer& squeezer) {
  const UnitGraph graph(problem);
  const Timeline program(graph, graph.program());
  fmt::print("nodes: {}\nunconstrained peak: {}\nfloor: {}\nleast peak bound: {}\n",
             problem.nodes.size(), program.peak(), least_peak(program), squeezer.least_bytes());
}

void print_plan(const Problem& problem, const Plan& plan, double least_ns) {
  fmt::print("factor: {:.6f}\nlower bound: {:.6f}\npeak bytes: {}\narena bytes: {}\n",
             factor(problem, predicted_ns(problem, plan)), std::max(1.0, factor(problem, least_ns)),
             plan.max_live_bytes, plan.arena_bytes);
}

int run(const Arguments& arguments) {
  std::ifstream in(arguments.file);
  if (!in) throw FileError("{}: cannot be read; give a problem file", arguments.file);
  const Problem problem = read_problem(in, arguments.file);
  const auto start = std::chrono::steady_clock::now();
  const std::clock_t cpu_start = std::clock();
  Squeezer squeezer(problem);
  const std::optional<Plan> plan = squeezer.plan(arguments.budget_bytes, Effort::thorough);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  const double cpu_seconds = static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC;
  print_problem(problem, squeezer);
  const bool impossible = !plan && squeezer.is_impossible(arguments.budget_bytes);
  fmt::print("feasible: {}\n", plan ? "yes" : impossible ? "no" : "not found");
  if (plan) print_plan(problem, *plan, squeezer.least_cost_ns(arguments.budget_bytes));
  fmt::print("planning seconds: {:.3f}\nplanning cpu seconds: {:.3f}\n", seconds.count(),
             cpu_seconds);
  if (!plan) return 3;
  validate(problem, *plan);
  fmt::print("validated: yes\n");
  if (!arguments.schedule.empty()) write_schedule(*plan, arguments.schedule);
  return 0;
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
