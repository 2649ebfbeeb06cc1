// Several element-wise ops run as one.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "snug/graph/op.h"

namespace snug {

// One op of a chain. Operands below the number of the fused node's inputs are these inputs; the
// others are the results of earlier steps, in order.
struct FusedStep {
  std::shared_ptr<const Op> op;
  std::vector<int> operands;
  std::string label;  // Of the node that it was: "dense/relu".
};

// All steps have the result shape `shape`, which may be symbolic, as may the inputs'; `outputs` are
// the steps whose results leave the node.
std::shared_ptr<const Op> fused_op(std::vector<FusedStep> steps, std::vector<int> outputs,
                                   std::vector<Shape> inputs, const Shape& shape);

// What the kernel of a fused op can do beside running: say which of its steps first gave a number
// that is not finite.
class WatchedKernel {
 public:
  struct Bad {
    int step = 0;
    int64_t element = 0;
    float value = 0;
  };
  virtual ~WatchedKernel() = default;
  // Runs as run() does, on one thread; see fused_label.
  virtual std::optional<Bad> run_watched(const Run& run) const noexcept = 0;
};

// The label of a step of a fused op; empty for any other op.
std::string fused_label(const Op& op, int step);

}  // namespace snug
