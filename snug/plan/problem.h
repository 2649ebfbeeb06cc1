// The memory problem of one step, as plain data: what make_plan reads. It knows nothing of graphs
// and kernels, so a hard case is a file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace snug {

inline constexpr int64_t kAlignment = 64;

// What a value is for; the report adds bytes up by it.
enum class Kind : uint8_t { input, weight, state, activation, gradient, partial, result };

// What a node does that no op does: a part of a value's way to the spill file and back.
enum class Transfer : uint8_t { none, start_write, end_write, start_read, end_read };

struct ProblemValue {
  std::string name;
  Kind kind = Kind::activation;
  int64_t bytes = 0;
  // Of one part, where the value lives only inside a stage that runs in parts. 0: the value never
  // splits.
  int64_t part_bytes = 0;
  // No node makes it: it is in its place when the step begins (a batch's slot). It may be freed
  // after its last reader unless it is pinned.
  bool given = false;
  // Still needed when the step ends: a result that the caller reads, a slot that is filled for the
  // next step.
  bool pinned = false;
  // Placed on whole pages: it goes to the spill file, or may share its place with one that does.
  bool paged = false;
};

// The output may be written where the input stands, if the input has no later reader.
struct Overwrite {
  int output = 0;  // Position among the node's outputs.
  int input = 0;   // Position among its inputs.
};

struct ProblemNode {
  std::string name;
  std::vector<int> in, out;  // Values.
  std::vector<Overwrite> overwrites;
  int64_t scratch_bytes = 0;  // Of one lane; dirty before and after.
  double cost_ns = 0;
  int stage = 0;
  bool recomputable = true;  // Pure: it may run again and gives the same bits.
  Transfer transfer = Transfer::none;
  int64_t file_offset = 0;  // Of a transfer.
};

// A run of adjacent nodes. It executes `parts` times, each time on one stretch of the rows, the
// parts dealt to `lanes` that run side by side. parts == 1: its nodes run once, on whole values.
struct Stage {
  int parts = 1;
  int lanes = 1;
};

// Nodes in program order; all nodes of a stage are adjacent, stages in order. Values that no node
// reads and that are not pinned live for the node that makes them.
struct Problem {
  std::vector<ProblemValue> values;
  std::vector<ProblemNode> nodes;
  std::vector<Stage> stages;
  // Held outside the arena for as long as the step lives: weights, optimizer slots, library code.
  int64_t persistent_bytes = 0;
  // Every place in the arena is a multiple of it.
  int64_t alignment = kAlignment;

  // Rounded up to the alignment.
  int64_t aligned(int64_t bytes) const { return (bytes + alignment - 1) / alignment * alignment; }
};

}  // namespace snug
