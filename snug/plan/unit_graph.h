// The problem as the search for a schedule sees it.
#pragma once

#include <cstdint>
#include <vector>

#include "snug/plan/plan.h"
#include "snug/plan/schedule.h"

namespace snug {

// What runs as one: a node of a stage of one part, or a whole stage of several parts.
struct Unit {
  int stage = 0;
  std::vector<int> nodes;
  std::vector<int> in, out;  // Values of the arena, each once; what only one lane sees is left out.
  std::vector<Overwrite> overwrites;  // Positions in out and in.
  int64_t extra_bytes = 0;            // Scratch, or the lanes.
  double cost_ns = 0;
  bool pure = true;
  // Nodes that are not pure stand in the order of the program, and all other nodes stay between the
  // same two of them: `section` counts those before this one.
  int section = 0;
};

struct UnitGraph {
  explicit UnitGraph(const Problem& problem);

  std::vector<Unit> units;
  std::vector<int64_t> bytes;  // By value, aligned.
  std::vector<int> producer;   // By value: its unit, or -1.
  std::vector<char> given, pinned;

  // Every unit once, as the problem lists them.
  std::vector<int> program() const;
  Schedule schedule(const std::vector<int>& sequence) const;
  double cost_ns(const std::vector<int>& sequence) const;
};

}  // namespace snug
