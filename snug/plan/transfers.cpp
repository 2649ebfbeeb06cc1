#include "snug/plan/transfers.h"

#include <algorithm>
#include <map>
#include <unordered_set>
#include <utility>

#include "snug/plan/schedule.h"

namespace snug {
namespace {

ProblemNode node_of(const Problem& problem, const PlanTransfer& transfer, int stage) {
  static constexpr const char* kWords[] = {"", "start to write ", "wait for the writing of ",
                                           "start to read ", "wait for the reading of "};
  ProblemNode node{
      .name = kWords[static_cast<int>(transfer.what)] + problem.values[transfer.value].name,
      .stage = stage,
      .transfer = transfer.what,
      .file_offset = transfer.file_offset};
  (transfer.what == Transfer::start_read ? node.out : node.in).push_back(transfer.value);
  return node;
}

using Shares = std::vector<std::vector<int>>;  // By value: those that may stand in its place.

void add_pair(int a, int b, Shares& shares) {
  shares[a].push_back(b);
  shares[b].push_back(a);
}

// Results of a stage in parts may stand in the place of any value of as many bytes that it reads:
// all of these are joined to the first such result.
void add_shares_by_parts(const Problem& problem, const std::vector<int>& nodes, Shares& shares) {
  const auto has_rows = [&](int v) { return problem.values[v].part_bytes > 0; };
  std::map<int64_t, int> first;  // By bytes.
  std::unordered_set<int> made;
  for (const int n : nodes) {
    for (const int v : problem.nodes[n].out) {
      made.insert(v);
      if (!has_rows(v)) continue;
      const auto [found, is_first] = first.emplace(problem.values[v].bytes, v);
      if (!is_first) add_pair(found->second, v, shares);
    }
  }
  for (const int n : nodes) {
    for (const int v : problem.nodes[n].in) {
      const auto found = first.find(problem.values[v].bytes);
      if (has_rows(v) && !made.contains(v) && found != first.end())
        add_pair(v, found->second, shares);
    }
  }
}

}  // namespace

std::vector<char> paged_values(const Problem& problem, const std::vector<char>& spilled) {
  Shares shares(problem.values.size());
  for (const ProblemNode& node : problem.nodes) {
    for (const Overwrite& overwrite : node.overwrites) {
      const int in = node.in[overwrite.input], out = node.out[overwrite.output];
      if (problem.values[in].bytes == problem.values[out].bytes) add_pair(in, out, shares);
    }
  }
  for (const StageRun& run : program_order(problem)) {
    if (problem.stages[run.stage].parts > 1) add_shares_by_parts(problem, run.nodes, shares);
  }
  std::vector<char> paged(problem.values.size(), 0);
  std::vector<int> open;
  const auto take = [&](int value) {
    if (std::exchange(paged[value], 1) == 0) open.push_back(value);
  };
  for (size_t v = 0; v < spilled.size(); ++v) {
    if (spilled[v]) take(static_cast<int>(v));
  }
  while (!open.empty()) {
    const int value = open.back();
    open.pop_back();
    for (const int other : shares[value]) take(other);
  }
  return paged;
}

Problem with_transfers(Problem problem, std::span<const PlanTransfer> transfers) {
  if (transfers.empty()) return problem;
  std::vector<char> spilled(problem.values.size(), 0);
  for (const PlanTransfer& transfer : transfers) spilled[transfer.value] = 1;
  const std::vector<char> paged = paged_values(problem, spilled);
  for (size_t v = 0; v < paged.size(); ++v) problem.values[v].paged = paged[v] != 0;
  const int stage = static_cast<int>(problem.stages.size());
  problem.stages.push_back({});
  for (const PlanTransfer& transfer : transfers)
    problem.nodes.push_back(node_of(problem, transfer, stage));
  return problem;
}

Problem without_transfers(Problem problem) {
  const auto is_transfer = [](const ProblemNode& node) { return node.transfer != Transfer::none; };
  if (std::erase_if(problem.nodes, is_transfer) > 0) problem.stages.pop_back();
  for (ProblemValue& value : problem.values) value.paged = false;
  return problem;
}

void add_transfers(Instance& instance, const Plan& plan) {
  if (plan.transfers.empty()) return;
  const int stage = static_cast<int>(instance.stages.size());
  instance.stages.push_back({.part_rows = instance.rows});
  instance.problem = with_transfers(std::move(instance.problem), plan.transfers);
  for (const PlanTransfer& transfer : plan.transfers) {
    Task task{.what = Task::What::transfer, .stage = stage, .trip = transfer.trip};
    (transfer.what == Transfer::start_read ? task.out : task.in)
        .push_back({.problem_value = transfer.value});
    instance.tasks.push_back(std::move(task));
  }
}

SpilledBytes spilled_bytes(const Problem& problem, const Plan& plan) {
  SpilledBytes bytes;
  for (const PlanTransfer& transfer : plan.transfers) {
    const int64_t moved = whole_pages(problem.values[transfer.value].bytes);
    if (transfer.what == Transfer::start_write) bytes.written += moved;
    if (transfer.what == Transfer::start_read) bytes.read += moved;
  }
  return bytes;
}

double predicted_ns(const Problem& problem, const Plan& plan) {
  const size_t program = static_cast<size_t>(
      std::ranges::count(problem.nodes, Transfer::none, &ProblemNode::transfer));
  double now = 0, disk = 0;
  std::vector<double> done(plan.transfers.size(), 0);  // By trip.
  for (const PlanStep& step : plan.steps) {
    const size_t node = static_cast<size_t>(step.node);
    if (node < program) {
      now += problem.nodes[node].cost_ns;
      continue;
    }
    const PlanTransfer& transfer = plan.transfers[node - program];
    const bool starts =
        transfer.what == Transfer::start_write || transfer.what == Transfer::start_read;
    if (starts) {
      done[transfer.trip] = disk = std::max(disk, now) + transfer.ns;
      now += transfer.drag_ns;
    }
    if (!starts) now = std::max(now, done[transfer.trip]);
  }
  return now;
}

}  // namespace snug
