// The problem as the search for a schedule sees it.
#pragma once

#include <cstdint>
#include <vector>

#include "snug/plan/plan.h"
#include "snug/plan/schedule.h"

namespace snug {

// What runs as one: a node of a stage of one part, a whole stage of several parts, or a piece of
// such a stage, which makes one of its values again.
struct Unit {
  int stage = 0;
  bool parts = false;  // Its stage has several.
  std::vector<int> nodes;
  std::vector<int> in, out;  // Values of the arena, each once; what only one lane sees is left out.
  std::vector<Overwrite> overwrites;  // Positions in out and in.
  bool overwrites_more = false;       // There are others than these.
  int64_t extra_bytes = 0;            // Scratch, or the lanes.
  double cost_ns = 0;
  bool pure = true;
  // Nodes that are not pure stand in the order of the program, and all other nodes stay between the
  // same two of them: `section` counts those before this one.
  int section = 0;
};

// It makes its value by reading it back from the spill file.
inline bool is_read(const Unit& unit) { return unit.nodes.empty(); }

struct UnitGraph {
  UnitGraph() = default;
  explicit UnitGraph(const Problem& problem);

  std::vector<Unit> units;     // Those of the program, then the pieces.
  int program_size = 0;        // How many of the units are the program's.
  std::vector<int64_t> bytes;  // By value, aligned.
  std::vector<int> producer;   // By value: the unit that makes it again, or -1.
  std::vector<char> given, pinned;
  std::vector<double> node_cost_ns;  // By node.

  bool is_piece(int unit) const { return unit >= program_size; }

  // Every unit once, as the problem lists them.
  std::vector<int> program() const;
  Schedule schedule(const std::vector<int>& sequence) const;
  double cost_ns(const std::vector<int>& sequence) const;

 private:
  void add_program(const Problem& problem, const std::vector<char>& local);
  void add_pieces(const Problem& problem, const std::vector<char>& local);
  void measure_lanes(const Problem& problem, const std::vector<char>& local);
};

}  // namespace snug
