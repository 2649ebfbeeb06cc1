#include "snug/plan/unit_graph.h"

#include <algorithm>
#include <numeric>

#include "snug/plan/layout.h"
#include "snug/plan/lifetimes.h"

namespace snug {
namespace {

void add_once(std::vector<int>& list, int value) {
  if (std::find(list.begin(), list.end(), value) == list.end()) list.push_back(value);
}

int position(const std::vector<int>& list, int value) {
  return static_cast<int>(std::find(list.begin(), list.end(), value) - list.begin());
}

// The values of one node, or of a whole stage: what it makes, and what it reads that it does not
// make.
void add_values(const Problem& problem, const std::vector<char>& local, Unit& unit) {
  for (const int n : unit.nodes) {
    for (const int v : problem.nodes[n].out) {
      if (!local[v]) add_once(unit.out, v);
    }
  }
  for (const int n : unit.nodes) {
    for (const int v : problem.nodes[n].in) {
      if (!local[v] && std::find(unit.out.begin(), unit.out.end(), v) == unit.out.end())
        add_once(unit.in, v);
    }
  }
}

// The same rules as for lifetimes: a value that is read twice is not overwritten, and parts only
// touch their own rows.
void add_overwrites(const Problem& problem, const std::vector<char>& local, bool parts,
                    Unit& unit) {
  for (const int n : unit.nodes) {
    const ProblemNode& node = problem.nodes[n];
    for (const Overwrite& o : node.overwrites) {
      const int in = node.in[o.input], out = node.out[o.output];
      if (local[in] || local[out] || std::count(node.in.begin(), node.in.end(), in) != 1) continue;
      const ProblemValue &from = problem.values[in], &to = problem.values[out];
      const bool rows =
          from.bytes == to.bytes && from.part_bytes > 0 && from.part_bytes == to.part_bytes;
      if (parts && !(rows && position(unit.in, in) < static_cast<int>(unit.in.size()))) continue;
      unit.overwrites.push_back(
          {.output = position(unit.out, out), .input = position(unit.in, in)});
    }
  }
}

}  // namespace

UnitGraph::UnitGraph(const Problem& problem) : producer(problem.values.size(), -1) {
  const Schedule program = program_order(problem);
  Lifetimes lives = lifetimes(problem, program);
  place_lanes(lives);
  std::vector<char> local(problem.values.size(), 0);
  for (const Buffer& buffer : lives.buffers) local[buffer.value] = buffer.local;
  for (const ProblemValue& value : problem.values) {
    bytes.push_back(aligned(value.bytes));
    given.push_back(value.given);
    pinned.push_back(value.pinned);
  }
  int section = 0;
  for (size_t s = 0; s < program.size(); ++s) {
    const bool parts = lives.stages[s].parts > 1;
    for (size_t i = 0; i < program[s].nodes.size(); i = parts ? program[s].nodes.size() : i + 1) {
      Unit unit{.stage = program[s].stage, .section = section};
      if (parts) unit.nodes = program[s].nodes;
      if (!parts) unit.nodes = {program[s].nodes[i]};
      for (const int n : unit.nodes) {
        unit.cost_ns += problem.nodes[n].cost_ns;
        unit.pure = unit.pure && problem.nodes[n].recomputable;
        section += problem.nodes[n].recomputable ? 0 : 1;
      }
      unit.extra_bytes = parts ? lives.stages[s].lanes * lives.stages[s].lane_bytes
                               : aligned(problem.nodes[unit.nodes[0]].scratch_bytes);
      add_values(problem, local, unit);
      add_overwrites(problem, local, parts, unit);
      for (const int v : unit.out) producer[v] = static_cast<int>(units.size());
      units.push_back(std::move(unit));
    }
  }
}

std::vector<int> UnitGraph::program() const {
  std::vector<int> sequence(units.size());
  std::iota(sequence.begin(), sequence.end(), 0);
  return sequence;
}

Schedule UnitGraph::schedule(const std::vector<int>& sequence) const {
  Schedule schedule;
  for (const int u : sequence) {
    const Unit& unit = units[u];
    const bool joins = !schedule.empty() && schedule.back().stage == unit.stage &&
                       unit.nodes.size() == 1 && schedule.back().nodes.back() < unit.nodes[0];
    if (!joins) schedule.push_back({unit.stage, {}});
    schedule.back().nodes.insert(schedule.back().nodes.end(), unit.nodes.begin(), unit.nodes.end());
  }
  return schedule;
}

double UnitGraph::cost_ns(const std::vector<int>& sequence) const {
  double cost = 0;
  for (const int u : sequence) cost += units[u].cost_ns;
  return cost;
}

}  // namespace snug
