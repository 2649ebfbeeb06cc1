#include "snug/nn/merging.h"

#include <algorithm>

#include "snug/base/error.h"
#include "snug/nn/axes_last.h"
#include "snug/ops/ops.h"

namespace snug {
namespace {

std::string shapes_of(const Values& in) {
  std::vector<std::string> texts;
  for (const Value& value : in) texts.push_back(value.shape().text());
  return fmt::format("{}", fmt::join(texts, ", "));
}

Value as_float(Value x) { return x.dtype() == DType::float32 ? x : ops::cast(x, DType::float32); }

// One element of each at the same place.
class ElementMerge final : public LayerDefinition {
 public:
  ElementMerge(std::string_view class_name, Value (*merge)(Value, Value))
      : class_name_(class_name), merge_(merge) {}

  std::string_view class_name() const override { return class_name_; }
  bool merges() const override { return true; }
  void settings(SettingVisitor&) override {}

  Values call(Tracer& tracer, const Values& in) override {
    check(in);
    int rank = 0;
    for (const Value& value : in) rank = std::max(rank, value.shape().rank());
    const bool multiplies = class_name_ == "Multiply";
    Value y = multiplies ? or_one(tracer, in[0], rank) : aligned(in[0], rank);
    for (size_t i = 1; i < in.size(); ++i) {
      if (multiplies)
        y = merge_(y, or_one(tracer, in[i], rank));
      else if (class_name_ == "Maximum" || class_name_ == "Minimum")
        y = extreme(tracer, y, {in.begin(), in.begin() + static_cast<long>(i)}, in[i], rank);
      else
        y = merge_(y, aligned(in[i], rank));
    }
    if (class_name_ == "Average") y = ops::multiply_scalar(y, 1 / static_cast<float>(in.size()));
    const Value mask = any_mask(tracer, in);
    if (multiplies && mask) y = ops::where(like(mask, y), y, number_like(y, 0));
    tracer.set_mask(y, mask);
    return {y};
  }

 private:
  void check(const Values& in) const {
    if (class_name_ == "Subtract" && in.size() != 2)
      throw ShapeError("{}: it takes two inputs, but was called on {}", label(), in.size());
    if (in.empty())
      throw ShapeError("{}: it was called on no inputs; call it on {{a, b}}", label());
    Shape row = in[0].shape().part(std::min(1, in[0].shape().rank()), in[0].shape().rank());
    for (const Value& value : in) {
      const Shape& shape = value.shape();
      if (!shape.has_rows() || !fits(row, shape.part(1, shape.rank()))) {
        throw ShapeError(
            "{}: the shapes {} do not go together; each axis behind the rows must be "
            "equal or 1",
            label(), shapes_of(in));
      }
    }
  }

  // Whether it can be broadcast with `row`, which becomes the result.
  static bool fits(Shape& row, const Shape& other) {
    const int most = std::max(row.rank(), other.rank());
    Shape joined;
    for (int axis = -most; axis < 0; ++axis) {
      const Extent a = -axis > row.rank() ? Extent(1) : row.extent(axis);
      const Extent b = -axis > other.rank() ? Extent(1) : other.extent(axis);
      if (a != b && a != Extent(1) && b != Extent(1)) return false;
      joined.push_back(a == Extent(1) ? b : a);
    }
    row = joined;
    return true;
  }

  static Value aligned(Value value, int rank) {
    const Value x = as_float(value);
    Shape shape{x.shape().extent(0)};
    for (int axis = x.shape().rank(); axis < rank; ++axis) shape.push_back(1);
    for (int axis = 1; axis < x.shape().rank(); ++axis) shape.push_back(x.shape().extent(axis));
    return ops::reshape(x, shape);
  }

  // As in Keras: what is masked is 1 in a product, and in an extreme what stands beside it.
  static Value or_one(const Tracer& tracer, const Value& value, int rank) {
    const Value x = aligned(value, rank), mask = tracer.mask(value);
    return mask ? ops::where(like(mask, x), x, number_like(x, 1)) : x;
  }
  Value extreme(const Tracer& tracer, Value y, const Values& before, const Value& value,
                int rank) const {
    Value x = aligned(value, rank);
    const Value mask = tracer.mask(value), mask_before = any_mask(tracer, before);
    const Shape shape = merge_(y, x).shape();
    if (mask || mask_before) {
      x = ops::broadcast_to(x, shape);
      y = ops::broadcast_to(y, shape);
    }
    if (mask) x = ops::where(like(mask, x), x, y);
    if (mask_before) y = ops::where(like(mask_before, y), y, x);
    return merge_(y, x);
  }

  // A mask [rows, steps] for each element of x.
  static Value like(Value mask, Value x) {
    Shape shape = mask.shape();
    while (shape.rank() < x.shape().rank()) shape.push_back(1);
    return ops::broadcast_to(ops::reshape(mask, shape), x.shape());
  }
  static Value number_like(Value x, float number) {
    return ops::broadcast_to(ops::constant(x.graph(), Shape{}, number), x.shape());
  }

  static Value any_mask(const Tracer& tracer, const Values& in) {
    Value any;
    for (const Value& value : in) {
      const Value mask = tracer.mask(value);
      if (!mask) return {};
      any = !any ? mask : any == mask ? any : ops::logical_or(any, mask);
    }
    return any;
  }

  std::string_view class_name_;
  Value (*merge_)(Value, Value);
};

class ConcatenateDefinition final : public LayerDefinition {
 public:
  explicit ConcatenateDefinition(int64_t axis) : axis_(axis) {}
  std::string_view class_name() const override { return "Concatenate"; }
  bool merges() const override { return true; }
  void settings(SettingVisitor& visitor) override { visitor.visit("axis", axis_); }

  Values call(Tracer& tracer, const Values& in) override {
    if (in.empty()) throw ShapeError("{}: it was called on no inputs", label());
    const int rank = in[0].shape().rank();
    const int axis = normalised_axis(static_cast<int>(axis_), rank, label());
    bool one_type = true;
    for (const Value& value : in) {
      one_type &= value.dtype() == in[0].dtype();
      const bool same_rank = value.shape().rank() == rank;
      if (axis > 0 && same_rank && value.shape().without(axis) == in[0].shape().without(axis))
        continue;
      throw ShapeError(
          "{}: the shapes {} cannot be joined along axis {}; all other axes must be equal, and "
          "axis 0 counts the rows",
          label(), shapes_of(in), axis);
    }
    Values parts;
    for (const Value& value : in) parts.push_back(one_type ? value : as_float(value));
    const Value y = parts.size() == 1 ? parts[0] : ops::concat(parts, axis);
    tracer.set_mask(y, joined_mask(tracer, in, axis));
    return {y};
  }

 private:
  // Joined along the steps, masks are joined too. Along the channels, a step is real if it is in
  // any input; an input without a mask has all steps.
  static Value joined_mask(const Tracer& tracer, const Values& in, int axis) {
    Values masks;
    Value known;
    for (const Value& value : in) {
      masks.push_back(tracer.mask(value));
      if (masks.back()) known = masks.back();
    }
    if (!known) return {};
    if (axis != 1 || in[0].shape().rank() < 3) {
      if (!std::ranges::all_of(masks, [](Value mask) { return static_cast<bool>(mask); }))
        return {};
      Value any = masks[0];
      for (const Value& mask : masks) any = mask == any ? any : ops::logical_or(any, mask);
      return any;
    }
    const Value first = ops::slice(known, {.begin = {0, 0}, .size = {-1, 1}, .step = {}});
    const Value yes = ops::logical_or(first, ops::logical_not(first));  // [rows, 1]
    for (size_t i = 0; i < in.size(); ++i) {
      const Shape& shape = in[i].shape();
      if (!masks[i]) masks[i] = ops::broadcast_to(yes, {shape.extent(0), shape.extent(1)});
    }
    return ops::concat(masks, axis);
  }

  int64_t axis_;
};

class DotDefinition final : public LayerDefinition {
 public:
  DotDefinition(std::array<int64_t, 2> axes, bool normalize)
      : axes_(axes.begin(), axes.end()), normalize_(normalize) {}
  std::string_view class_name() const override { return "Dot"; }
  bool merges() const override { return true; }
  void settings(SettingVisitor& visitor) override {
    visitor.visit("axes", axes_);
    visitor.visit("normalize", normalize_);
    if (axes_.size() == 1) axes_.push_back(axes_[0]);
    if (axes_.size() != 2) throw Error("axes: expected one number or two, got {}", axes_.size());
  }

  Values call(Tracer&, const Values& in) override {
    if (in.size() != 2)
      throw ShapeError("{}: it takes two inputs, but was called on {}", label(), in.size());
    Value a = as_float(in[0]), b = as_float(in[1]);
    const AxesLast first({axes_[0]}, a.shape(), label()), second({axes_[1]}, b.shape(), label());
    if (first.shape() != second.shape()) {
      throw ShapeError("{}: axis {} of {} and axis {} of {} differ; they must be equal", label(),
                       axes_[0], a.shape().text(), axes_[1], b.shape().text());
    }
    if (normalize_) {
      a = unit_norm(a, first.axes()[0]);
      b = unit_norm(b, second.axes()[0]);
    }
    a = first.to_end(a);
    b = second.to_end(b);
    if (a.shape().rank() == 2 && b.shape().rank() == 2)
      return {ops::sum(ops::multiply(a, b), {.axes = {1}, .keepdims = true})};
    return {row_products(a, b)};
  }

 private:
  // [rows, rest of a..., n] and [rows, rest of b..., n] -> [rows, rest of a..., rest of b...].
  static Value row_products(Value a, Value b) {
    const Shape rest_a = a.shape().part(1, a.shape().rank() - 1);
    const Shape rest_b = b.shape().part(1, b.shape().rank() - 1);
    const Extent rows = a.shape().extent(0), n = a.shape().extent(-1);
    const Value left = ops::reshape(a, {rows, rest_a.size(), n});
    const Value right = ops::reshape(b, {rows, rest_b.size(), n});
    Shape shape{rows};
    for (const Extent extent : rest_a.extents()) shape.push_back(extent);
    for (const Extent extent : rest_b.extents()) shape.push_back(extent);
    return ops::reshape(ops::matmul(left, right, {.transpose_b = true}), shape);
  }

  std::vector<int64_t> axes_;
  bool normalize_;
};

Layer merge(const LayerOptions& options, std::string_view name, Value (*function)(Value, Value)) {
  return named_layer<ElementMerge>(options, name, function);
}

}  // namespace

Layer Add(const LayerOptions& options) { return merge(options, "Add", ops::add); }
Layer Subtract(const LayerOptions& options) { return merge(options, "Subtract", ops::subtract); }
Layer Multiply(const LayerOptions& options) { return merge(options, "Multiply", ops::multiply); }
Layer Average(const LayerOptions& options) { return merge(options, "Average", ops::add); }
Layer Maximum(const LayerOptions& options) { return merge(options, "Maximum", ops::maximum); }
Layer Minimum(const LayerOptions& options) { return merge(options, "Minimum", ops::minimum); }
Layer Concatenate(int64_t axis, const LayerOptions& options) {
  return named_layer<ConcatenateDefinition>(options, axis);
}
Layer Dot(std::array<int64_t, 2> axes, const DotOptions& options) {
  return named_layer<DotDefinition>(options, axes, options.normalize);
}
Layer Dot(int64_t axes, const DotOptions& options) { return Dot(std::array{axes, axes}, options); }

}  // namespace snug
