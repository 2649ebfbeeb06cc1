// A part of a value: of each axis `size` elements, `step` apart, from `begin` on.

#include <fmt/ranges.h>

#include <cstdlib>

#include "snug/base/error.h"
#include "snug/ops/move.h"
#include "snug/ops/ops.h"

namespace snug::ops {
namespace {

// Of each axis, worked out: nothing negative but steps, nothing left open.
struct Span {
  int64_t begin = 0, size = 0, step = 1;
  bool whole = false;  // Takes all of the axis as it is: the only way to take the axis of rows.
};
using Spans = std::vector<Span>;

Shape part_of(const Shape& x, const Spans& spans) {
  Shape y;
  for (int axis = 0; axis < x.rank(); ++axis) {
    y.push_back(spans[axis].whole ? x.extent(axis) : Extent(spans[axis].size));
  }
  return y;
}

// The move between a whole value of shape x and its part.
Move move_of(const Shape& x, const Spans& spans) {
  const Shape y = part_of(x, spans);
  const std::vector<int64_t> whole = strides_of(x), part = strides_of(y);
  Move move{.box = box_of(y)};
  for (int axis = 0; axis < x.rank(); ++axis) {
    move.from += spans[axis].begin * whole[axis];
    move.box.from_strides[axis] = spans[axis].step * whole[axis];
    move.box.to_strides[axis] = part[axis];
  }
  return move;
}

std::string text_of(const Spans& spans) {
  std::vector<std::string> texts;
  for (const Span& span : spans) {
    texts.push_back(span.whole       ? ":"
                    : span.step == 1 ? fmt::format("{}+{}", span.begin, span.size)
                                     : fmt::format("{}+{}x{}", span.begin, span.size, span.step));
  }
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

// The input's shape with the output's gradient in its place and zeros elsewhere.
class SliceGradient final : public Op {
 public:
  SliceGradient(Spans spans, const Shape& whole) : spans_(std::move(spans)), whole_(whole) {}

  std::string_view name() const override { return "slice_gradient"; }
  std::string attributes() const override { return text_of(spans_); }
  Types infer(const Types& in) const override { return {{in[0].dtype, whole_}}; }
  Values gradient(const Node& node, const Values& dy) const override;
  Rows rows(const Types&) const override { return Rows::each; }

  Cost cost(const Types& in) const override {
    const Type dx{in[0].dtype, concrete(in[0].shape)};
    return {.bytes = moved_bytes(in[0]) + static_cast<double>(dx.bytes())};
  }

  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    const Shape dx = concrete(in[0].shape);
    Move zeros{.box = box_of({dx.size()}), .input = Move::kConstant};
    zeros.box.to_strides[0] = 1;
    Move part = move_of(dx, spans_);
    std::swap(part.from, part.to);
    std::swap(part.box.from_strides, part.box.to_strides);
    return std::make_unique<MoveKernel>(std::vector<Move>{zeros, part}, size_of(in[0].dtype),
                                        target);
  }

 private:
  Shape concrete(const Shape& dy) const {
    Shape dx = whole_;
    for (int axis = 0; axis < dx.rank(); ++axis) {
      if (spans_[axis].whole) dx.set(axis, dy.extent(axis));
    }
    return dx;
  }

  Spans spans_;
  Shape whole_;
};

class Slice final : public Op {
 public:
  explicit Slice(Spans spans) : spans_(std::move(spans)) {}

  std::string_view name() const override { return "slice"; }
  std::string attributes() const override { return text_of(spans_); }
  Types infer(const Types& in) const override {
    return {{in[0].dtype, part_of(in[0].shape, spans_)}};
  }
  Values gradient(const Node& node, const Values& dy) const override {
    return {node.graph().add<SliceGradient>({dy[0]}, spans_, node.input(0).shape())};
  }
  Rows rows(const Types&) const override { return Rows::each; }
  Cost cost(const Types& in) const override {
    return {.bytes = moved_bytes({in[0].dtype, part_of(in[0].shape, spans_)})};
  }
  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    return std::make_unique<MoveKernel>(std::vector<Move>{move_of(in[0].shape, spans_)},
                                        size_of(in[0].dtype), target);
  }

 private:
  Spans spans_;
};

Values SliceGradient::gradient(const Node& node, const Values& dy) const {
  return {node.graph().add<Slice>({dy[0]}, spans_)};
}

Span rows_span(const Span& wanted, const Shape& x, int axis) {
  if (wanted.begin != 0 || wanted.size != -1 || wanted.step != 1) {
    throw ShapeError(
        "slice: axis {} of {} is rows and must be taken whole: begin 0, size -1, step 1; got {}, "
        "{}, {}",
        axis, x.text(), wanted.begin, wanted.size, wanted.step);
  }
  return {.whole = true};
}

Span resolved(Span span, const Shape& x, int axis) {
  if (x.extent(axis).times_rows) return rows_span(span, x, axis);
  const int64_t extent = x[axis];
  if (span.step == 0) throw ShapeError("slice: the step of axis {} is 0; it must not be", axis);
  if (span.begin < 0) span.begin += extent;
  const bool inside = span.begin >= 0 && span.begin < extent;
  const int64_t room = span.step > 0 ? extent - span.begin : span.begin + 1;
  const int64_t distance = std::abs(span.step);
  const int64_t most = inside ? (room + distance - 1) / distance : 0;
  if (span.size == -1) span.size = most;
  if (!inside || span.size < 1 || span.size > most) {
    throw ShapeError("slice: {} elements from {} on, {} apart, are not inside axis {} of {}",
                     span.size, span.begin, span.step, axis, x.text());
  }
  span.whole = span.begin == 0 && span.size == extent && span.step == 1;
  return span;
}

}  // namespace

Value slice(Value x, const SliceOptions& options) {
  const auto rank = static_cast<size_t>(x.shape().rank());
  if (options.begin.size() != rank || options.size.size() != rank ||
      (!options.step.empty() && options.step.size() != rank)) {
    throw ShapeError("slice: {} has {} axes, but begin, size and step name {}, {} and {}",
                     x.shape().text(), rank, options.begin.size(), options.size.size(),
                     options.step.size());
  }
  Spans spans;
  for (size_t axis = 0; axis < rank; ++axis) {
    const Span wanted{.begin = options.begin[axis],
                      .size = options.size[axis],
                      .step = options.step.empty() ? 1 : options.step[axis]};
    spans.push_back(resolved(wanted, x.shape(), static_cast<int>(axis)));
  }
  if (std::ranges::all_of(spans, &Span::whole)) return x;
  return x.graph().add<Slice>({x}, std::move(spans));
}

}  // namespace snug::ops
