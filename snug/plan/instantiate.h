// A graph at a number of rows: its stages, its kernels, and the memory problem that they pose.
#pragma once

#include <memory>
#include <vector>

#include "snug/graph/graph.h"
#include "snug/plan/cost_model.h"
#include "snug/plan/partition.h"
#include "snug/plan/problem.h"

namespace snug {

struct InstantiateOptions {
  PartitionOptions partition;
  CostModel costs;
  // Inputs whose memory is the caller's, bound before each step, instead of a slot in the arena.
  std::vector<Value> borrowed;
  // Inputs whose rows can be brought at any time, and again: each stage that reads one has them
  // brought, part by part, and nothing of them is kept for the next stage.
  std::vector<Value> fed;
  // Every value keeps its own memory until the step ends, so that it can be read; nothing runs in
  // parts.
  bool keep_all = false;
  SpillLimits spill;  // Where a budget binds.
};

// One argument of an task: a value of the problem, or memory outside the arena.
struct Argument {
  int value = -1;          // The graph's number of the value; -1 for a prepared form.
  int problem_value = -1;  // -1: a variable or a borrowed input.
  bool has_rows = false;   // Then a part sees its own stretch.
};

// One node of the problem: a kernel's run, the making of its prepared form, the bringing of rows
// that its node is the first of a stage to read, or a transfer, which has neither node nor kernel.
struct Task {
  enum class What { run, prepare, feed, transfer };
  What what = What::run;
  const Node* node = nullptr;
  int stage = 0;
  std::shared_ptr<Kernel> kernel;  // For a full part; null where rows are brought.
  std::shared_ptr<Kernel> rest;    // For the last part, where it has fewer rows; otherwise null.
  std::vector<Argument> in, out;
  int prepared = -1;          // The problem's value of the prepared form, or -1.
  bool sums = false;          // Outputs are sums over rows: the parts' results are added up.
  std::vector<int> partials;  // For each output of a sum in several lanes: the problem's value of
                              // lanes 1, 2, ...
  int trip = 0;               // Of a transfer.
  size_t own_scratch_bytes = 0;  // The kernel's, before the room for a part's sums behind it.
};

struct StageShape {
  int64_t part_rows = 0;
  int parts = 1;
  int lanes = 1;
  bool commits = false;
  // See StageChoice.
  int64_t block_rows = 0;
  int group_parts = 0;
};

struct Instance {
  int64_t rows = 0;
  int threads = 1;  // That its lanes are dealt to.
  std::vector<StageShape> stages;
  std::vector<Task> tasks;    // The problem's nodes, in the same order.
  std::vector<int> value_of;  // The graph's value -> the problem's, or -1.
  Problem problem;
};

// `results` are the values that the caller reads after a step.
Instance instantiate(const Graph& graph, const Values& results, int64_t rows, const Target& target,
                     const InstantiateOptions& options = {});

// A guess at the time to bring an input's rows, once.
double feed_ns(const Graph& graph, const Value& input, int64_t rows);

}  // namespace snug
