#include "snug/plan/unit_graph.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

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

bool are_same_rows(const ProblemValue& a, const ProblemValue& b) {
  return a.bytes == b.bytes && a.bytes > 0 && a.part_bytes > 0 && b.part_bytes > 0;
}

// By value that a node of the unit reads: the last of them.
std::unordered_map<int, size_t> last_reads(const Problem& problem, const Unit& unit) {
  std::unordered_map<int, size_t> last;
  for (size_t n = 0; n < unit.nodes.size(); ++n) {
    for (const int v : problem.nodes[unit.nodes[n]].in) last[v] = n;
  }
  return last;
}

// A part that has read its rows of a value for the last time may write those of a result there,
// whichever of its later nodes does.
void add_overwrites_by_parts(const Problem& problem, Unit& unit) {
  constexpr int kMostPlaces = 4;  // That one result is offered.
  const std::unordered_map<int, size_t> last = last_reads(problem, unit);
  for (size_t n = 0; n < unit.nodes.size(); ++n) {
    for (const int v : problem.nodes[unit.nodes[n]].out) {
      const int out = position(unit.out, v), outs = static_cast<int>(unit.out.size());
      int places = 0;
      for (int in = 0; in < static_cast<int>(unit.in.size()) && out < outs; ++in) {
        const int from = unit.in[in];
        if (last.at(from) >= n || !are_same_rows(problem.values[from], problem.values[v])) continue;
        unit.overwrites_more |= places == kMostPlaces;
        if (places++ < kMostPlaces) unit.overwrites.push_back({.output = out, .input = in});
      }
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
      const bool rows = are_same_rows(problem.values[in], problem.values[out]);
      if (parts && !(rows && position(unit.in, in) < static_cast<int>(unit.in.size()))) continue;
      unit.overwrites.push_back(
          {.output = position(unit.out, out), .input = position(unit.in, in)});
    }
  }
  if (parts) add_overwrites_by_parts(problem, unit);
}

}  // namespace

UnitGraph::UnitGraph(const Problem& problem) : producer(problem.values.size(), -1) {
  const Lifetimes lives = lifetimes(problem, program_order(problem));
  std::vector<char> local(problem.values.size(), 0);
  for (const Buffer& buffer : lives.buffers) local[buffer.value] = buffer.local;
  for (const ProblemValue& value : problem.values) {
    bytes.push_back(problem.aligned(value.bytes));
    given.push_back(value.given);
    pinned.push_back(value.pinned);
  }
  for (const ProblemNode& node : problem.nodes) node_cost_ns.push_back(node.cost_ns);
  add_program(problem, local);
  add_pieces(problem, local);
  measure_lanes(problem, local);
}

void UnitGraph::add_program(const Problem& problem, const std::vector<char>& local) {
  int section = 0;
  for (const StageRun& run : program_order(problem)) {
    const bool parts = problem.stages[run.stage].parts > 1;
    for (size_t i = 0; i < run.nodes.size(); i = parts ? run.nodes.size() : i + 1) {
      Unit unit{.stage = run.stage, .parts = parts, .section = section};
      if (parts) unit.nodes = run.nodes;
      if (!parts) unit.nodes = {run.nodes[i]};
      for (const int n : unit.nodes) {
        unit.cost_ns += problem.nodes[n].cost_ns;
        unit.pure = unit.pure && problem.nodes[n].recomputable;
        section += problem.nodes[n].recomputable ? 0 : 1;
      }
      if (!parts) unit.extra_bytes = problem.aligned(problem.nodes[unit.nodes[0]].scratch_bytes);
      add_values(problem, local, unit);
      add_overwrites(problem, local, parts, unit);
      for (const int v : unit.out) producer[v] = static_cast<int>(units.size());
      units.push_back(std::move(unit));
    }
  }
  program_size = static_cast<int>(units.size());
}

// To have one value of a stage again, not all of the stage has to run again: what leads to the
// value is enough, from the values that other stages see too.
void UnitGraph::add_pieces(const Problem& problem, const std::vector<char>& local) {
  for (int u = 0; u < program_size; ++u) {
    if (!units[u].parts || !units[u].pure) continue;
    const Unit whole = units[u];
    for (const int value : whole.out) {
      Unit piece{.stage = whole.stage, .parts = true, .section = whole.section};
      std::vector<int> wanted{value};
      for (auto n = whole.nodes.rbegin(); n != whole.nodes.rend(); ++n) {
        const ProblemNode& node = problem.nodes[*n];
        const auto is_wanted = [&](int v) {
          return std::find(wanted.begin(), wanted.end(), v) != wanted.end();
        };
        if (std::none_of(node.out.begin(), node.out.end(), is_wanted)) continue;
        piece.nodes.insert(piece.nodes.begin(), *n);
        piece.cost_ns += node.cost_ns;
        for (const int v : node.in) {
          if (local[v]) wanted.push_back(v);
        }
      }
      if (piece.nodes.size() == whole.nodes.size()) continue;
      add_values(problem, local, piece);
      add_overwrites(problem, local, /*parts=*/true, piece);
      producer[value] = static_cast<int>(units.size());
      units.push_back(std::move(piece));
    }
  }
}

// The lanes of every stage and piece, one after the other. What a piece makes for others counts
// with its own bytes, though nobody reads it here.
void UnitGraph::measure_lanes(const Problem& problem, const std::vector<char>& local) {
  Schedule schedule = program_order(problem);
  const size_t stages = schedule.size();
  for (size_t u = program_size; u < units.size(); ++u)
    schedule.push_back({units[u].stage, units[u].nodes});
  Lifetimes lives = lifetimes(problem, schedule);
  const auto counts_itself = [&](int buffer) { return !local[lives.buffers[buffer].value]; };
  for (std::vector<Block>& lanes : lives.lanes) {
    std::erase_if(lanes, [&](const Block& block) {
      return !block.buffers.empty() && std::ranges::all_of(block.buffers, counts_itself);
    });
  }
  place_lanes(problem, lives);
  size_t piece = stages;
  size_t stage = 0;
  for (size_t u = 0; u < units.size(); ++u) {
    if (!units[u].parts) continue;
    while (stage < stages && schedule[stage].stage != units[u].stage) ++stage;
    const bool whole = static_cast<int>(u) < program_size;
    const PlanStage& lanes = lives.stages[whole ? stage : piece++];
    units[u].extra_bytes = lanes.lanes * lanes.lane_bytes;
  }
}

std::vector<int> UnitGraph::program() const {
  std::vector<int> sequence(program_size);
  std::iota(sequence.begin(), sequence.end(), 0);
  return sequence;
}

Schedule UnitGraph::schedule(const std::vector<int>& sequence) const {
  Schedule schedule;
  for (const int u : sequence) {
    const Unit& unit = units[u];
    const bool joins = !schedule.empty() && schedule.back().stage == unit.stage && !unit.parts &&
                       schedule.back().nodes.back() < unit.nodes[0];
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
