// What nodes cost on a machine, in nanoseconds of wall clock. Plain numbers: a plan is a pure
// function of them.
#pragma once

#include <cstdint>

#include "snug/graph/graph.h"

namespace snug {

// A speed on one thread, and of all threads together.
struct Rate {
  double one = 1, all = 1;
};

// Of the disk that holds the spill file: bytes a nanosecond, and what a transfer takes beside its
// bytes.
struct DiskSpeed {
  double read = 1, write = 1.5;
  double start_ns = 100e3;
  // That a byte on its way takes from what is computed beside it: 0.08 to 0.16 on the virtual disk
  // of two servers.
  double drag = 0.1;

  double read_ns(int64_t bytes) const { return start_ns + static_cast<double>(bytes) / read; }
  double write_ns(int64_t bytes) const { return start_ns + static_cast<double>(bytes) / write; }
  double drag_ns(int64_t bytes) const { return drag * static_cast<double>(bytes); }
};

// Whether values may go to the spill file, and how large that may be.
struct SpillLimits {
  bool allowed = false;
  int64_t most_bytes = INT64_MAX;
};

struct CostModel {
  int threads = 1;  // That `all` stands for.
  // Flops a nanosecond.
  Rate matmul{90, 180};
  Rate convolution{70, 140};
  Rate other{8, 16};
  // Bytes a nanosecond: where they stay in the second cache of a core, in the last one, and where
  // they do not.
  Rate cache{40, 80};
  Rate near{16, 28};
  Rate memory{10, 16};
  // The same of weights that a product reads, or of sums that it adds to, beside its rows, where
  // other nodes have pushed them out of the cache since the rows before.
  Rate weights{8, 12};
  double node_ns = 150;   // To call a kernel.
  double fork_ns = 3000;  // To start all threads and wait for them.
  DiskSpeed disk;
};

// How the rows of a stage are run: what a cost depends on beside the node.
struct StageWork {
  int64_t rows = 0;       // Of all parts together.
  int64_t part_rows = 0;  // Of each but the last.
  int parts = 1;
  int lanes = 1;    // Parts side by side, a thread each.
  int threads = 1;  // Of one kernel.
  int cores = 1;    // That lanes are dealt to.
  // Weights and sums of all nodes that run between two runs of one.
  int64_t fixed_bytes = 0;
};

// One execution of the node on all rows.
double node_ns(const CostModel& model, const Node& node, const StageWork& work);
// What the parts of a stage read that other stages have made, or make for them, takes beside its
// nodes' own time: `of_stage` bytes pass, some of them here, on this many threads.
double pass_ns(const CostModel& model, int64_t bytes, int64_t of_stage, int threads);
// Moving bytes once, on this many threads.
double move_ns(const CostModel& model, int64_t bytes, int threads);

}  // namespace snug
