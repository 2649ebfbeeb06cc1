// The same elements in the same order under another shape. Where the input ends here, the output
// takes its place and nothing is copied.

#include "snug/ops/reshape.h"

#include "snug/base/error.h"
#include "snug/ops/move.h"

namespace snug::ops {
namespace {

int open_extents(const Shape& shape) {
  return static_cast<int>(
      std::ranges::count_if(shape.extents(), [](Extent extent) { return extent.times_rows; }));
}

// `wanted` with its -1, if any, worked out.
Shape resolved(const Shape& wanted, const Shape& from) {
  int open = -1;
  Shape others;
  for (int axis = 0; axis < wanted.rank(); ++axis) {
    const Extent extent = wanted.extent(axis);
    if (extent.count >= 0) {
      others.push_back(extent);
      continue;
    }
    if (extent != Extent(-1) || open >= 0) {
      throw ShapeError("reshape: to {} from {}: one extent may be -1 and none less", wanted.text(),
                       from.text());
    }
    open = axis;
  }
  if (open < 0) return wanted;
  const int64_t known = others.size_per_row(), all = from.size_per_row();
  if (known == 0 || all % known != 0) {
    throw ShapeError("reshape: {} cannot become {}: {} elements{} are no multiple of {}",
                     from.text(), wanted.text(), all, from.is_symbolic() ? " a row" : "", known);
  }
  Shape shape = wanted;
  shape.set(open, Extent(all / known, open_extents(from) > open_extents(others)));
  return shape;
}

class Reshape final : public Op {
 public:
  explicit Reshape(const Shape& shape) : shape_(shape) {}

  std::string_view name() const override { return "reshape"; }
  std::string attributes() const override { return "shape=" + shape_.text(); }

  Types infer(const Types& in) const override {
    const Shape &from = in[0].shape, to = resolved(shape_, from);
    if (from.size_per_row() != to.size_per_row() || open_extents(from) != open_extents(to)) {
      throw ShapeError("reshape: {} cannot become {}: the numbers of elements differ", from.text(),
                       to.text());
    }
    if (from.has_rows() && !to.has_rows()) {
      throw ShapeError("reshape: {} cannot become {}: rows must stay outermost; transpose instead",
                       from.text(), to.text());
    }
    return {{in[0].dtype, to}};
  }

  Values gradient(const Node& node, const Values& dy) const override {
    return {reshape(dy[0], node.input(0).shape())};
  }

  Rows rows(const Types& in) const override {
    return open_extents(in[0].shape) == 1 ? Rows::each : Rows::coupled;
  }

  Cost cost(const Types& in) const override { return {.bytes = moved_bytes(in[0])}; }

  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    return std::make_unique<CopyKernel>(in[0].bytes(), target);
  }

 private:
  Shape shape_;
};

}  // namespace

Value reshape(Value x, const Shape& shape) {
  return x.shape() == shape ? x : x.graph().add<Reshape>({x}, shape);
}

// What is computed element by element does not mind the shape. Draws do: they go by the place in a
// row.
Value reshape_alone(Value x, const Shape& shape) {
  const Node* producer = x.producer();
  const bool passes = producer != nullptr && producer->in().size() == 1 &&
                      producer->op().elementwise() != nullptr && !producer->op().traits().random;
  if (!passes) return reshape(x, shape);
  return x.graph().add(producer->shared_op(), {reshape(producer->input(0), shape)})[0];
}

}  // namespace snug::ops
