// How several operands are read side by side where they are broadcast to one shape.
#pragma once

#include <array>
#include <utility>
#include <vector>

#include "snug/tensor/shape.h"

namespace snug::ops {

// Cuts a result into stretches along which each operand either moves on with the result or stands
// still. Axes that behave alike for every operand are one axis, so most results are one stretch.
template <int kOperands>
class BroadcastWalk {
 public:
  using Offsets = std::array<int64_t, kOperands>;

  // All concrete; the operands broadcast to the result.
  BroadcastWalk(const std::array<Shape, kOperands>& operands, const Shape& result) {
    Offsets strides;
    strides.fill(1);
    for (int back = 1; back <= result.rank(); ++back) {
      Axis axis{.extent = result[-back]};
      for (int i = 0; i < kOperands; ++i) {
        const int64_t own = back <= operands[i].rank() ? operands[i][-back] : 1;
        axis.steps[i] = own == 1 ? 0 : strides[i];
        strides[i] *= own;
      }
      if (axis.extent != 1) add(axis);
    }
    if (axes_.empty()) {
      axes_.push_back({.extent = 1});
      axes_[0].steps.fill(1);
    }
    for (size_t k = 1; k < axes_.size(); ++k) stretches_ *= axes_[k].extent;
  }

  int64_t stretches() const { return stretches_; }
  int64_t stretch_size() const { return axes_[0].extent; }
  // Whether the operand moves on along a stretch.
  bool moves(int operand) const { return axes_[0].steps[operand] != 0; }

  // The elements at which the operands stand when stretch `index` begins.
  Offsets offsets(int64_t index) const {
    Offsets offsets{};
    for (size_t k = 1; k < axes_.size(); ++k) {
      const int64_t at = index % axes_[k].extent;
      index /= axes_[k].extent;
      for (int i = 0; i < kOperands; ++i) offsets[i] += at * axes_[k].steps[i];
    }
    return offsets;
  }

 private:
  struct Axis {
    int64_t extent = 1;
    Offsets steps{};
  };

  void add(const Axis& axis) {
    bool joins = !axes_.empty();
    for (int i = 0; joins && i < kOperands; ++i) {
      joins = axis.steps[i] == axes_.back().steps[i] * axes_.back().extent;
    }
    if (joins)
      axes_.back().extent *= axis.extent;
    else
      axes_.push_back(axis);
  }

  std::vector<Axis> axes_;  // Innermost first.
  int64_t stretches_ = 1;
};

}  // namespace snug::ops
