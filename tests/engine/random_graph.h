// Random training steps: branches, shared parameters, row-wise nodes, sums, coupled ops, updates.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "snug/graph/graph.h"

namespace snug::testing {

struct RandomStep {
  std::unique_ptr<Graph> graph = std::make_unique<Graph>();
  std::vector<Value> variables;
  Value loss;
};

// A step with about `nodes` forward nodes, its gradients, and a plain descent update of every variable.
RandomStep random_step(uint64_t seed, int nodes);

// The memory of a graph's variables and inputs, filled from a seed.
struct StepMemory {
  explicit StepMemory(const Graph& graph, int64_t rows, uint64_t seed);

  std::vector<std::vector<float>> blocks;  // Of each value; empty for those that nodes make.
  std::vector<void*> outside;              // Variables only.
};

}  // namespace snug::testing
