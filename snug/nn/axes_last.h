#pragma once

#include <string_view>
#include <vector>

#include "snug/graph/graph.h"

namespace snug {

// Axes of a value moved behind the others and back, for ops that work on the last axes. Where they
// are the last already, nothing moves.
class AxesLast {
 public:
  // Axes may be negative. Throws ShapeError that names the layer where there is no such axis, where
  // one comes twice or out of order, or where it is the one of rows.
  AxesLast(const std::vector<int64_t>& axes, const Shape& shape, std::string_view layer);

  const std::vector<int>& axes() const { return axes_; }  // From the front, in order.
  Shape shape() const;                                    // Of these axes alone.
  Value to_end(Value x) const;
  Value back(Value y) const;

 private:
  Shape whole_;
  std::vector<int> axes_;
  std::vector<int> order_;  // Axis order_[i] goes to i.
};

// x over the root of its sum of squares along one axis; zeros stay zeros.
Value unit_norm(Value x, int axis);

}  // namespace snug
