// What element-wise ops share: how an operand is read block by block where it is broadcast, and a
// kernel that runs any element-wise loop on blocks that stay in the first cache.
#pragma once

#include <memory>
#include <vector>

#include "snug/graph/op.h"

namespace snug::ops {

// Floats in a block.
inline constexpr int64_t kBlock = 2048;
// Of an element-wise loop.
inline constexpr size_t kMostElementwiseInputs = 8;
// Elements below which a second thread costs more than it brings.
inline constexpr int64_t kWorthThreadsElements = 32 * 1024;

// The threads that an element-wise pass over `size` elements deserves.
inline int elementwise_threads(int64_t size, const Target& target) {
  return size >= kWorthThreadsElements ? target.threads : 1;
}

// Reads a float operand as if it had the shape that it is broadcast to.
class BroadcastReader {
 public:
  BroadcastReader(const Shape& operand, const Shape& result);  // Both concrete.

  // Every element of the result reads the operand's element at the same place: no copy is needed.
  bool is_whole() const { return whole_; }
  // The operand as a whole repeats: its element i is read by the result's elements i, i + n, i +
  // 2n, ...
  bool repeats() const { return !whole_ && (rank_ == 1 || (rank_ == 2 && strides_[0] == 0)); }
  // Writes elements [first, first + count) of the broadcast operand to `block`.
  void read(const float* operand, int64_t first, int64_t count, float* block) const noexcept;

 private:
  bool whole_ = false;
  // Merged axes, outermost first, at most kMaxRank: extent and the operand's stride (0 where it is
  // broadcast).
  int rank_ = 0;
  int64_t extents_[Shape::kMaxRank] = {};
  int64_t strides_[Shape::kMaxRank] = {};
};

// A kernel that runs one element-wise loop over `result` (concrete). The block must outlive the
// kernel; it usually is the op itself. All inputs are float32, at most kMostElementwiseInputs of
// them; anything else is an Error.
std::unique_ptr<Kernel> elementwise_kernel(const ElementwiseBlock& block, const Types& in,
                                           const Shape& result, const Target& target);

// What an element-wise op over these inputs moves, with so many flops an element.
Cost elementwise_cost(const Types& in, const Shape& result, double flops);

}  // namespace snug::ops
