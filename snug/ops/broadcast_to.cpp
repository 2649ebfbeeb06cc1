// A value repeated along new axes and along axes of one element, as NumPy does.

#include "snug/base/error.h"
#include "snug/ops/binary.h"
#include "snug/ops/move.h"
#include "snug/ops/ops.h"
#include "snug/ops/sum_to.h"

namespace snug::ops {
namespace {

// Where a kernel, which sees concrete types only, finds the number of rows: an axis of `count` a
// row of one of the inputs.
struct RowsOf {
  int input = 0;
  int axis = 0;
  int64_t count = 1;
};

class BroadcastTo final : public Op {
 public:
  BroadcastTo(const Shape& shape, const RowsOf& rows_of) : shape_(shape), rows_of_(rows_of) {}

  std::string_view name() const override { return "broadcast_to"; }
  std::string attributes() const override { return "shape=" + shape_.text(); }

  Types infer(const Types& in) const override {
    const Shape& x = in[0].shape;
    if (x.rank() > shape_.rank() || broadcast(x, shape_, "broadcast_to") != shape_) {
      throw ShapeError("broadcast_to: {} cannot become {}; only axes of 1 and new axes repeat",
                       x.text(), shape_.text());
    }
    return {{in[0].dtype, shape_}};
  }

  Values gradient(const Node& node, const Values& dy) const override {
    Values gradients(node.in().size());
    if (is_float(node.input(0).dtype())) gradients[0] = sum_to(dy[0], node.input(0).shape());
    return gradients;
  }

  Rows rows(const Types& in) const override {
    const Shape& x = in[0].shape;
    const bool aligned = !x.is_symbolic() || (x.has_rows() && x.rank() == shape_.rank());
    return aligned ? Rows::each : Rows::coupled;
  }

  Cost cost(const Types& in) const override {
    const Type y{in[0].dtype, concrete(in)};
    return {.bytes = static_cast<double>(in[0].bytes() + y.bytes())};
  }

  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    const Shape &x = in[0].shape, y = concrete(in);
    const std::vector<int64_t> from = strides_of(x);
    Move move{.box = box_of(y)};
    std::ranges::copy(strides_of(y), move.box.to_strides);
    for (int axis = 0; axis < x.rank(); ++axis) {
      const int64_t stride = x[axis] == 1 ? 0 : from[axis];
      move.box.from_strides[y.rank() - x.rank() + axis] = stride;
    }
    return std::make_unique<MoveKernel>(std::vector<Move>{move}, size_of(in[0].dtype), target);
  }

 private:
  Shape concrete(const Types& in) const {
    if (!shape_.is_symbolic()) return shape_;
    return shape_.at(in[rows_of_.input].shape[rows_of_.axis] / rows_of_.count);
  }

  Shape shape_;
  RowsOf rows_of_;
};

// An input of the graph with rows: it says how many there are and is not read. Inputs stay in their
// place for the whole step, so this keeps nothing alive.
Value any_input_with_rows(Graph& graph, const Shape& shape) {
  for (const int input : graph.of_source(Graph::Source::input)) {
    if (graph.type(input).shape.has_rows()) return graph.value(input);
  }
  throw ShapeError(
      "broadcast_to: {} has rows, but no input of the graph has; give it such an input",
      shape.text());
}

}  // namespace

bool is_broadcast_to(const Op& op) { return dynamic_cast<const BroadcastTo*>(&op) != nullptr; }

Value broadcast_to(Value x, const Shape& shape) {
  if (x.shape() == shape) return x;
  Graph& graph = x.graph();
  if (!shape.is_symbolic()) return graph.add<BroadcastTo>({x}, shape, RowsOf());
  for (int axis = 0; axis < x.shape().rank(); ++axis) {
    const Extent extent = x.shape().extent(axis);
    if (!extent.times_rows) continue;
    return graph.add<BroadcastTo>({x}, shape, RowsOf{.axis = axis, .count = extent.count});
  }
  const Value rows = any_input_with_rows(graph, shape);
  const RowsOf rows_of{.input = 1, .count = rows.shape().extent(0).count};
  return graph.add<BroadcastTo>({x, rows}, shape, rows_of);
}

}  // namespace snug::ops
