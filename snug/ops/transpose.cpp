// Axis k of the result is axis axes[k] of the input.

#include <fmt/ranges.h>

#include "snug/base/error.h"
#include "snug/ops/move.h"
#include "snug/ops/ops.h"

namespace snug::ops {
namespace {

class Transpose final : public Op {
 public:
  explicit Transpose(std::vector<int> axes) : axes_(std::move(axes)) {}

  std::string_view name() const override { return "transpose"; }
  std::string attributes() const override {
    return fmt::format("axes=[{}]", fmt::join(axes_, ", "));
  }

  Types infer(const Types& in) const override {
    const Shape& x = in[0].shape;
    std::vector<int> sorted = axes_;
    std::ranges::sort(sorted);
    bool permutes = static_cast<int>(axes_.size()) == x.rank();
    for (int axis = 0; permutes && axis < x.rank(); ++axis) permutes = sorted[axis] == axis;
    if (!permutes) {
      throw ShapeError("transpose: axes [{}] of {}: name each of its {} axes once",
                       fmt::join(axes_, ", "), x.text(), x.rank());
    }
    Shape y;
    for (const int axis : axes_) y.push_back(x.extent(axis));
    return {{in[0].dtype, y}};
  }

  Values gradient(const Node&, const Values& dy) const override {
    std::vector<int> inverse(axes_.size());
    for (size_t k = 0; k < axes_.size(); ++k) inverse[axes_[k]] = static_cast<int>(k);
    return {transpose(dy[0], inverse)};
  }

  Rows rows(const Types&) const override { return axes_[0] == 0 ? Rows::each : Rows::coupled; }

  Cost cost(const Types& in) const override { return {.bytes = moved_bytes(in[0])}; }

  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    const Shape& x = in[0].shape;
    std::vector<int64_t> extents;
    for (int axis = 0; axis < x.rank(); ++axis) extents.push_back(x[axis]);
    const kernels::Box box = kernels::transpose_box(x.rank(), extents.data(), axes_.data());
    return std::make_unique<MoveKernel>(std::vector<Move>{{.box = box}}, size_of(in[0].dtype),
                                        target);
  }

 private:
  std::vector<int> axes_;
};

}  // namespace

Value transpose(Value x, const std::vector<int>& axes) {
  std::vector<int> positive;
  for (const int axis : axes)
    positive.push_back(normalised_axis(axis, x.shape().rank(), "transpose"));
  const bool moves = !std::ranges::is_sorted(positive);
  const bool whole = static_cast<int>(axes.size()) == x.shape().rank();
  const bool distinct = std::ranges::adjacent_find(positive) == positive.end();
  return whole && distinct && !moves ? x : x.graph().add<Transpose>({x}, std::move(positive));
}

}  // namespace snug::ops
