// Several element-wise ops run as one.
#pragma once

#include <memory>
#include <vector>

#include "snug/graph/op.h"

namespace snug {

// One op of a chain. Operands below the number of the fused node's inputs are these inputs; the
// others are the results of earlier steps, in order.
struct FusedStep {
  std::shared_ptr<const Op> op;
  std::vector<int> operands;
};

// All steps have the result shape `shape`, which may be symbolic, as may the inputs'; `outputs` are
// the steps whose results leave the node.
std::shared_ptr<const Op> fused_op(std::vector<FusedStep> steps, std::vector<int> outputs,
                                   std::vector<Shape> inputs, const Shape& shape);

}  // namespace snug
