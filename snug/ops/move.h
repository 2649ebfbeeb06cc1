// Kernels that move elements and compute nothing.
#pragma once

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "snug/base/threads.h"
#include "snug/graph/kernel.h"
#include "snug/kernels/strided.h"
#include "snug/tensor/tensor.h"

namespace snug::ops {

// Below this, a fork and join costs more than it brings.
inline constexpr int64_t kWorthThreadsBytes = 256 << 10;

// The output has the bytes of the input; nothing happens where it stands in the input's place.
class CopyKernel final : public Kernel {
 public:
  CopyKernel(size_t bytes, const Target& target) : bytes_(static_cast<int64_t>(bytes)) {
    threads_ = bytes_ < kWorthThreadsBytes ? 1 : target.threads;
  }

  std::vector<int> overwrites(int) const override { return {0}; }

  void run(const Run& run) const noexcept override {
    const auto* from = run.input<std::byte>(0);
    auto* to = run.output<std::byte>();
    if (from == to) return;
    parallel_ranges(bytes_, threads_, 64, [&](int64_t begin, int64_t end) {
      std::memcpy(to + begin, from + begin, static_cast<size_t>(end - begin));
    });
  }

 private:
  int64_t bytes_;
  int threads_;
};

// Elements from one index to the next of each axis, row-major.
inline std::vector<int64_t> strides_of(const Shape& shape) {
  std::vector<int64_t> strides(shape.rank(), 1);
  for (int axis = shape.rank() - 2; axis >= 0; --axis) {
    strides[axis] = strides[axis + 1] * shape[axis + 1];
  }
  return strides;
}

// A box with these extents; its strides are still to be filled in. A scalar has one axis.
inline kernels::Box box_of(const Shape& shape) {
  kernels::Box box{.axes = std::max(shape.rank(), 1)};
  box.extents[0] = 1;
  for (int axis = 0; axis < shape.rank(); ++axis) box.extents[axis] = shape[axis];
  return box;
}

// One box copied from an input to the output.
struct Move {
  static constexpr int kConstant = -1;  // As `input`: every element is the kernel's constant.

  kernels::Box box;
  int input = 0;
  int64_t from = 0, to = 0;  // The elements at which it starts.
};

// Runs moves one after the other. `constant` holds the bits of one element.
class MoveKernel final : public Kernel {
 public:
  MoveKernel(std::vector<Move> moves, size_t element_bytes, const Target& target,
             uint64_t constant = 0)
      : moves_(std::move(moves)),
        element_bytes_(static_cast<int64_t>(element_bytes)),
        threads_(target.threads),
        constant_(constant) {
    std::erase_if(moves_, [](const Move& move) { return elements(move.box) == 0; });
    for (Move& move : moves_)
      move.box.past_caches = elements(move.box) * element_bytes_ >= kernels::kPastCachesBytes;
  }

  void run(const Run& run) const noexcept override {
    for (const Move& move : moves_) {
      const bool small = elements(move.box) * element_bytes_ < kWorthThreadsBytes;
      const int axis = split_axis(move.box);
      parallel_ranges(move.box.extents[axis], small ? 1 : threads_, 1,
                      [&](int64_t begin, int64_t end) { copy(run, move, axis, begin, end); });
    }
  }

 private:
  static int64_t elements(const kernels::Box& box) {
    int64_t count = 1;
    for (int axis = 0; axis < box.axes; ++axis) count *= box.extents[axis];
    return count;
  }

  // The outermost axis that is long enough for all threads.
  int split_axis(const kernels::Box& box) const {
    for (int axis = 0; axis < box.axes; ++axis) {
      if (box.extents[axis] >= threads_) return axis;
    }
    return 0;
  }

  void copy(const Run& run, const Move& move, int axis, int64_t begin, int64_t end) const noexcept {
    kernels::Box box = move.box;
    box.extents[axis] = end - begin;
    const auto* from = move.input == Move::kConstant
                           ? reinterpret_cast<const std::byte*>(&constant_)
                           : run.input<std::byte>(move.input);
    from += (move.from + begin * box.from_strides[axis]) * element_bytes_;
    std::byte* to = run.output<std::byte>();
    to += (move.to + begin * box.to_strides[axis]) * element_bytes_;
    kernels::copy_box(box, from, to, static_cast<size_t>(element_bytes_));
  }

  std::vector<Move> moves_;
  int64_t element_bytes_;
  int threads_;
  uint64_t constant_;
};

// The cost of writing a type once, read from somewhere.
inline double moved_bytes(const Type& type) { return 2.0 * static_cast<double>(type.bytes()); }

}  // namespace snug::ops
