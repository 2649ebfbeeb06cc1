// A shape seen by a reduction: axes that are treated alike and stand side by side are one.
#pragma once

#include <algorithm>
#include <vector>

#include "snug/tensor/shape.h"

namespace snug::ops {

struct ReducedAxes {
  struct Group {
    int64_t extent = 1;
    bool reduced = false;
  };

  int rank = 0;
  Group groups[Shape::kMaxRank];  // Outermost first; reduced and kept ones take turns.

  ReducedAxes() = default;
  // Of a concrete shape; `axes` are counted from the front.
  ReducedAxes(const Shape& shape, const std::vector<int>& axes) {
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const bool reduced = std::ranges::count(axes, axis) > 0;
      // The outermost axis stays where it is reduced, for its sum may be added to an output.
      if (shape[axis] == 1 && !(axis == 0 && reduced)) continue;
      if (rank == 0 || groups[rank - 1].reduced != reduced) groups[rank++] = {1, reduced};
      groups[rank - 1].extent *= shape[axis];
    }
  }

  bool reduces_outermost() const { return rank > 0 && groups[0].reduced; }
  int64_t outermost() const { return rank > 0 ? groups[0].extent : 1; }

  int64_t size() const { return product(0, rank, false); }
  int64_t kept_size() const { return product(0, rank, true); }

  // The product of the extents of groups [first, last), or of the kept ones among them.
  int64_t product(int first, int last, bool kept_only) const {
    int64_t result = 1;
    for (int i = first; i < last; ++i) {
      if (!(kept_only && groups[i].reduced)) result *= groups[i].extent;
    }
    return result;
  }

  // Calls body(x, y, count) for each innermost stretch: `count` elements from element x, of which
  // the reduction is at y (reduced innermost axis) or at y, y + 1, ... (kept one).
  template <typename Body>
  void walk(const Body& body) const {
    const int64_t count = rank > 0 ? groups[rank - 1].extent : 1;
    const int64_t stretches = count == 0 ? 0 : size() / count;
    int64_t index[Shape::kMaxRank] = {}, y = 0;
    for (int64_t stretch = 0; stretch < stretches; ++stretch) {
      body(stretch * count, y, count);
      int64_t stride = rank > 0 && !groups[rank - 1].reduced ? count : 1;
      for (int i = rank - 2; i >= 0; --i) {
        const Group& group = groups[i];
        if (!group.reduced) y += stride;
        if (++index[i] < group.extent) break;
        index[i] = 0;
        if (group.reduced) continue;
        y -= stride * group.extent;
        stride *= group.extent;
      }
    }
  }
  bool innermost_reduced() const { return rank > 0 && groups[rank - 1].reduced; }
};

}  // namespace snug::ops
