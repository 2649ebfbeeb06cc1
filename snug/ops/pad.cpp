// A value with a border of one number around it.

#include <bit>

#include "snug/base/error.h"
#include "snug/ops/move.h"
#include "snug/ops/ops.h"

namespace snug::ops {
namespace {

using Border = std::vector<std::array<int64_t, 2>>;

// The bits of one element that holds `value`.
uint64_t element_bits(DType dtype, float value) {
  switch (dtype) {
    case DType::float32:
      return std::bit_cast<uint32_t>(value);
    case DType::float64:
      return std::bit_cast<uint64_t>(static_cast<double>(value));
    case DType::int32:
      return static_cast<uint32_t>(static_cast<int32_t>(value));
    case DType::int64:
      return static_cast<uint64_t>(static_cast<int64_t>(value));
    case DType::uint8:
      return static_cast<uint8_t>(value);
    case DType::boolean:
      return value != 0;
  }
  return 0;
}

class Pad final : public Op {
 public:
  Pad(Border border, float value) : border_(std::move(border)), value_(value) {}

  std::string_view name() const override { return "pad"; }
  std::string attributes() const override {
    std::string text;
    for (const auto& [before, after] : border_) text += fmt::format(" {}+{}", before, after);
    return fmt::format("value={} border={}", value_, text.empty() ? text : text.substr(1));
  }

  Types infer(const Types& in) const override {
    const Shape& x = in[0].shape;
    if (static_cast<int>(border_.size()) != x.rank()) {
      throw ShapeError("pad: {} has {} axes, but {} pairs of (before, after) were given", x.text(),
                       x.rank(), border_.size());
    }
    for (int axis = 0; axis < x.rank(); ++axis) check(axis, x);
    return {{in[0].dtype, padded(x)}};
  }

  Values gradient(const Node& node, const Values& dy) const override {
    SliceOptions inside;
    const Shape& x = node.input(0).shape();
    if (x.size_per_row() == 0) return {Value()};
    for (int axis = 0; axis < x.rank(); ++axis) {
      inside.begin.push_back(border_[axis][0]);
      inside.size.push_back(x.extent(axis).times_rows ? -1 : x[axis]);
    }
    return {slice(dy[0], inside)};
  }

  Rows rows(const Types&) const override { return Rows::each; }

  Cost cost(const Types& in) const override {
    const Type y{in[0].dtype, padded(in[0].shape)};
    return {.bytes = static_cast<double>(in[0].bytes() + y.bytes())};
  }

  // Around the copy stand two slabs for each axis: within the copy's extent of the axes outside it,
  // across the whole result of the axes inside it. Each element is written once.
  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    const Shape &x = in[0].shape, y = padded(x);
    const std::vector<int64_t> from = strides_of(x), to = strides_of(y);
    Move copy{.box = box_of(x)};
    std::ranges::copy(from, copy.box.from_strides);
    std::ranges::copy(to, copy.box.to_strides);
    std::vector<Move> moves;
    Move slab{.box = box_of(y), .input = Move::kConstant};
    std::ranges::copy(to, slab.box.to_strides);
    for (int axis = 0; axis < x.rank(); ++axis) {
      const auto [before, after] = border_[axis];
      slab.box.extents[axis] = before;
      moves.push_back(slab);
      slab.box.extents[axis] = after;
      moves.push_back(slab);
      moves.back().to += (before + x[axis]) * to[axis];
      slab.box.extents[axis] = x[axis];
      slab.to += before * to[axis];
    }
    copy.to = slab.to;
    moves.push_back(copy);
    return std::make_unique<MoveKernel>(std::move(moves), size_of(in[0].dtype), target,
                                        element_bits(in[0].dtype, value_));
  }

 private:
  void check(int axis, const Shape& x) const {
    const auto [before, after] = border_[axis];
    if (before < 0 || after < 0) {
      throw ShapeError("pad: ({}, {}) around axis {} of {} is negative; cut with slice", before,
                       after, axis, x.text());
    }
    if (x.extent(axis).times_rows && before + after > 0) {
      throw ShapeError("pad: ({}, {}) around axis {} of {}: rows cannot be padded", before, after,
                       axis, x.text());
    }
  }

  Shape padded(const Shape& x) const {
    Shape y = x;
    for (int axis = 0; axis < x.rank(); ++axis) {
      const Extent extent = x.extent(axis);
      y.set(axis, {extent.count + border_[axis][0] + border_[axis][1], extent.times_rows});
    }
    return y;
  }

  Border border_;
  float value_;
};

}  // namespace

Value pad(Value x, const std::vector<std::array<int64_t, 2>>& before_after, float value) {
  return x.graph().add<Pad>({x}, before_after, value);
}

}  // namespace snug::ops
