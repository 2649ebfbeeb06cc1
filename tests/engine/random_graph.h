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

// A step with about `nodes` forward nodes, its gradients, and a plain descent update of every
// variable.
RandomStep random_step(uint64_t seed, int nodes);

// Floats that start at a multiple of 64 bytes.
class AlignedFloats {
 public:
  AlignedFloats() = default;
  explicit AlignedFloats(int64_t size) : block_(size + 16) {}
  float* data() {
    const auto address = reinterpret_cast<uintptr_t>(block_.data());
    return reinterpret_cast<float*>((address + 63) / 64 * 64);
  }

 private:
  std::vector<float> block_;
};

// The memory of a graph's variables and inputs, filled from a seed.
struct StepMemory {
  explicit StepMemory(const Graph& graph, int64_t rows, uint64_t seed);

  std::vector<AlignedFloats> blocks;  // Of each value; empty for those that nodes make.
  std::vector<void*> outside;         // Variables only.
};

}  // namespace snug::testing
