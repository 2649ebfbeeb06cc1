// Cuts the nodes of a step into stages: which run part by part of the rows, and in how many parts
// and lanes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "snug/graph/graph.h"

namespace snug {

// Nodes that run together. In a stage with parts, every node treats each row on its own or sums
// over rows; the stage runs once for each part, a part on one thread of one of `lanes` lanes, so
// that what passes between its nodes stays in cache and never exists whole. A stage of one part
// runs node by node on whole values, each on `threads` threads.
struct StageChoice {
  std::vector<const Node*> nodes;
  int64_t part_rows = 0;  // The last part may have fewer.
  int parts = 1;
  int lanes = 1;
  int threads = 1;  // Of each kernel.
  // Of a reproducible stage, otherwise 0: sums are added up in blocks of so many rows, one after
  // the other within a group of parts, then the groups in order. Lanes are groups.
  int64_t block_rows = 0;
  int group_parts = 0;

  int groups() const { return group_parts == 0 ? 1 : (parts + group_parts - 1) / group_parts; }
};

struct PartitionOptions {
  bool parts = true;  // false: one node after the other on whole values.
  // The bytes that the values between the nodes of one part should stay within: a share of the L2
  // cache.
  int64_t part_bytes = 1 << 20;
  // Every stage that can run in parts does, with this many rows each, whether it pays or not. 0:
  // where it pays.
  int64_t forced_part_rows = 0;
  // Forced parts run one after the other, each kernel on all threads: micro-batches. Needs no
  // partial sums.
  bool one_lane = false;
  // Sums over rows are added up in a fixed tree of row blocks, the same however the rows are cut
  // and on any number of threads: every plan gives the same bits.
  bool reproducible = false;
  // Stages in parts are cut further (narrow_stages.h), which changes no bits.
  bool narrow = false;
};

// The stages of a graph at a number of rows, in an order that respects every dependency: computing
// nodes first, then committing ones. Nodes that neither commit nor lead to `results` are left out.
// A pure function: the same partition on every machine with the same number of threads.
std::vector<StageChoice> partition(const Graph& graph, std::span<const Value> results, int64_t rows,
                                   const Target& target, const PartitionOptions& options = {});

// A rough time of one execution on one thread, from flops and bytes.
double estimated_ns(const Node& node, int64_t rows);

}  // namespace snug
