// Values one behind the other along an axis.

#include "snug/base/error.h"
#include "snug/ops/move.h"
#include "snug/ops/ops.h"

namespace snug::ops {
namespace {

// The stretch [begin, begin + count), in multiples of rows, of an open axis: what one of several
// values with rows contributed to their concatenation along that axis.
class RowsPart final : public Op {
 public:
  RowsPart(int axis, int64_t begin, int64_t count, int64_t total)
      : axis_(axis), begin_(begin), count_(count), total_(total) {}

  std::string_view name() const override { return "concat_part"; }

  Types infer(const Types& in) const override {
    Type y = in[0];
    y.shape.set(axis_, Extent(count_, true));
    return {y};
  }

  Values gradient(const Node&, const Values&) const override {
    refuse_second_gradient("concat along rows");
  }

  Cost cost(const Types& in) const override {
    return {.bytes =
                moved_bytes(in[0]) * static_cast<double>(count_) / static_cast<double>(total_)};
  }

  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    const std::vector<int64_t> from = strides_of(in[0].shape);
    const int64_t rows = in[0].shape[axis_] / total_;
    Shape y = in[0].shape;
    y.set(axis_, count_ * rows);
    Move move{.box = box_of(y), .from = begin_ * rows * from[axis_]};
    std::ranges::copy(from, move.box.from_strides);
    std::ranges::copy(strides_of(y), move.box.to_strides);
    return std::make_unique<MoveKernel>(std::vector<Move>{move}, size_of(in[0].dtype), target);
  }

 private:
  int axis_;
  int64_t begin_, count_, total_;
};

class Concat final : public Op {
 public:
  explicit Concat(int axis) : axis_(axis) {}

  std::string_view name() const override { return "concat"; }
  std::string attributes() const override { return fmt::format("axis={}", axis_); }

  Types infer(const Types& in) const override {
    Type y = in[0];
    for (size_t i = 1; i < in.size(); ++i) y.shape.set(axis_, joined(y, in[i], i));
    return {y};
  }

  Values gradient(const Node& node, const Values& dy) const override {
    Values gradients;
    const int rank = dy[0].shape().rank();
    int64_t begin = 0;
    for (const Type& type : node.input_types()) {
      const Extent extent = type.shape.extent(axis_);
      SliceOptions part{.begin = std::vector<int64_t>(rank),
                        .size = std::vector<int64_t>(rank, -1)};
      part.begin[axis_] = begin;
      part.size[axis_] = extent.count;
      if (!is_float(type.dtype) || extent.count == 0)
        gradients.emplace_back();
      else if (extent.times_rows)
        gradients.push_back(node.graph().add<RowsPart>({dy[0]}, axis_, begin, extent.count,
                                                       dy[0].shape().extent(axis_).count));
      else
        gradients.push_back(slice(dy[0], part));
      begin += extent.count;
    }
    return gradients;
  }

  Rows rows(const Types&) const override { return axis_ > 0 ? Rows::each : Rows::coupled; }

  Cost cost(const Types& in) const override {
    Cost cost;
    for (const Type& type : in) cost.bytes += moved_bytes(type);
    return cost;
  }

  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    Shape y = in[0].shape;
    for (size_t i = 1; i < in.size(); ++i) y.set(axis_, y[axis_] + in[i].shape[axis_]);
    const std::vector<int64_t> to = strides_of(y);
    std::vector<Move> moves;
    int64_t begin = 0;
    for (size_t i = 0; i < in.size(); ++i) {
      const std::vector<int64_t> from = strides_of(in[i].shape);
      Move move{.box = box_of(in[i].shape), .input = static_cast<int>(i), .to = begin * to[axis_]};
      std::ranges::copy(from, move.box.from_strides);
      std::ranges::copy(to, move.box.to_strides);
      moves.push_back(move);
      begin += in[i].shape[axis_];
    }
    return std::make_unique<MoveKernel>(std::move(moves), size_of(in[0].dtype), target);
  }

 private:
  // The extent along the axis of what `y` and input i make together.
  Extent joined(const Type& y, const Type& in, size_t i) const {
    Shape same = in.shape;
    if (in.shape.rank() == y.shape.rank()) same.set(axis_, y.shape.extent(axis_));
    if (in.dtype != y.dtype || same != y.shape) {
      throw ShapeError(
          "concat: input {} is {}, those before it make {}; they may differ along axis {} only", i,
          in.text(), y.text(), axis_);
    }
    const Extent a = y.shape.extent(axis_), b = in.shape.extent(axis_);
    if (a.times_rows != b.times_rows) {
      throw ShapeError("concat: {} and {} along axis {}: rows and a fixed number do not add up",
                       y.text(), in.text(), axis_);
    }
    return {a.count + b.count, a.times_rows};
  }

  int axis_;
};

}  // namespace

Value concat(const Values& values, int axis) {
  if (values.empty()) throw ShapeError("concat: no values were given; give at least one");
  if (values.size() == 1) return values[0];
  const int rank = values[0].shape().rank();
  return values[0].graph().add<Concat>(values, normalised_axis(axis, rank, "concat"));
}

}  // namespace snug::ops
