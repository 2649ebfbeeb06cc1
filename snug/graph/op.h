// The contract of an op: all that the engine must know about it, in one class, in one file of ops/.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "snug/graph/kernel.h"
#include "snug/tensor/tensor.h"

namespace snug {

class Node;
class Value;
using Values = std::vector<Value>;

// How an op treats the open extent.
enum class Rows {
  each,  // A row of an output depends on the same row of the inputs that have rows, and on inputs
         // without rows.
  sum,   // Outputs have no rows: each is a sum over the rows of a term that depends on one row.
  coupled,  // Anything else: needs all rows at once.
};

struct Traits {
  // Positions of the inputs, all variables, that it writes in place. Such a node commits state: it
  // runs behind the guard, after every node that only computes.
  std::vector<int> writes;
  bool random = false;  // Draws from the step's seed; the same numbers when it runs again.
  // Its first output is the gradient of a table as rows: (sums [n, dim], indices [n], count [1]).
  bool row_gradient = false;
};

// What one execution costs. The planner weighs it against the bytes that a result occupies.
struct Cost {
  double flops = 0;
  double bytes = 0;  // Read and written.
};

class ElementwiseBlock;

class Op {
 public:
  virtual ~Op() = default;

  virtual std::string_view name() const = 0;
  // The attributes as text, for printing: "strides=2 padding=same".
  virtual std::string attributes() const { return {}; }

  // The types of the outputs. Types may be symbolic. Throws ShapeError, naming the op and the
  // shapes, when the inputs do not fit. Called when a node is added.
  virtual Types infer(const Types& in) const = 0;

  // Adds the nodes that turn the gradients of the outputs (an empty Value where none flows) into
  // the gradient of each input (an empty Value where none flows). What these nodes read is what
  // stays alive for the backward pass: read the smallest thing that suffices.
  virtual Values gradient(const Node& node, const Values& output_gradients) const = 0;

  // Asked only where an input or output has rows.
  virtual Rows rows(const Types& /*in*/) const { return Rows::coupled; }

  virtual Traits traits() const { return {}; }

  // Of concrete types.
  virtual Cost cost(const Types& in) const = 0;
  virtual std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const = 0;

  // Where the op is element-wise (one float32 output, each element from the elements at the same
  // place of the inputs, broadcast): its loop on one block, for fusion. Otherwise null.
  virtual const ElementwiseBlock* elementwise() const { return nullptr; }
};

// What an element-wise loop knows of the place of its block.
struct BlockPlace {
  int64_t first = 0;         // Element of the part's value at which the block begins.
  const Run* run = nullptr;  // For step and first_row.
};

// An element-wise op's loop. Inputs and output are `count` floats; the output may be any of the
// inputs.
class ElementwiseBlock {
 public:
  virtual ~ElementwiseBlock() = default;
  virtual void run_block(const float* const* in, float* out, int64_t count,
                         const BlockPlace& place) const noexcept = 0;
  // Blocks that begin at a multiple of this are the cheapest: of a row, for who draws row by row.
  virtual int64_t stride() const noexcept { return 1; }
};

// For the gradients of ops that cannot be differentiated again.
[[noreturn]] void refuse_second_gradient(std::string_view op);

}  // namespace snug
