#include "snug/nn/axes_last.h"

#include <algorithm>

#include "snug/base/error.h"
#include "snug/ops/ops.h"

namespace snug {

AxesLast::AxesLast(const std::vector<int64_t>& axes, const Shape& shape, std::string_view layer)
    : whole_(shape) {
  for (const int64_t given : axes) {
    const int axis = normalised_axis(static_cast<int>(given), shape.rank(), layer);
    if (axis == 0 || (!axes_.empty() && axis <= axes_.back())) {
      throw ShapeError(
          "{}: axis {} of {}: give the axes in order, each once, and not the first, which counts "
          "the rows",
          layer, given, shape.text());
    }
    axes_.push_back(axis);
  }
  if (axes_.empty()) throw ShapeError("{}: axis is empty; give at least one", layer);
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (!std::ranges::count(axes_, axis)) order_.push_back(axis);
  }
  order_.insert(order_.end(), axes_.begin(), axes_.end());
}

Shape AxesLast::shape() const {
  Shape shape;
  for (const int axis : axes_) shape.push_back(whole_.extent(axis));
  return shape;
}

Value AxesLast::to_end(Value x) const {
  return std::ranges::is_sorted(order_) ? x : ops::transpose(x, order_);
}

Value AxesLast::back(Value y) const {
  if (std::ranges::is_sorted(order_)) return y;
  std::vector<int> places(order_.size());
  for (size_t i = 0; i < order_.size(); ++i) places[order_[i]] = static_cast<int>(i);
  return ops::transpose(y, places);
}

Value unit_norm(Value x, int axis) {
  // Of which the root is 1e-12: a vector of zeros has a slope, too.
  constexpr float least = 1e-24f;
  const Value squares = ops::sum(ops::square(x), {.axes = {axis}, .keepdims = true});
  return ops::multiply(x, ops::rsqrt(ops::maximum(squares, ops::constant(x.graph(), {}, least))));
}

}  // namespace snug
