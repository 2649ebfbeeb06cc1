// Sums, means, extremes and products along axes.

#include "snug/kernels/reduce.h"

#include <algorithm>
#include <cstring>

#include "snug/base/error.h"
#include "snug/base/threads.h"
#include "snug/ops/elementwise.h"
#include "snug/ops/ops.h"
#include "snug/ops/reduce_gradient.h"
#include "snug/ops/reduced_axes.h"
#include "snug/ops/sum_to.h"

namespace snug::ops {
namespace {

using kernels::Output;
using kernels::Reduction;

// Reduces group by group of axes, from the innermost to the outermost; what stands between two is
// scratch.
class ReduceKernel final : public Kernel {
 public:
  ReduceKernel(Reduction reduction, const ReducedAxes& axes, const Target& target)
      : reduction_(reduction),
        axes_(axes),
        slabs_(slabs_of(axes, elementwise_threads(axes.size(), target))),
        threads_(std::min(slabs_, elementwise_threads(axes.size(), target))) {}

  size_t scratch_bytes() const override {
    const int64_t partials = partial_results() ? slabs_ * axes_.kept_size() : 0;
    return static_cast<size_t>(threads_ * between_size() + partials) * sizeof(float);
  }

  bool accumulates() const override { return reduction_ == Reduction::sum; }

  void run(const Run& run) const noexcept override {
    const Output output = run.accumulate ? Output::add : Output::write;
    float* scratch = static_cast<float*>(run.scratch);
    float* partials = scratch + threads_ * between_size();
    const int64_t results = axes_.kept_size(), outermost = std::max<int64_t>(axes_.outermost(), 1);
    const auto run_one = [&](int number, float* between) {
      const int64_t begin = axes_.outermost() * number / slabs_;
      ReducedAxes slab = axes_;
      if (slab.rank > 0) slab.groups[0].extent = axes_.outermost() * (number + 1) / slabs_ - begin;
      const float* x = run.input(0) + begin * (axes_.size() / outermost);
      if (partial_results())
        run_slab(slab, x, partials + number * results, Output::write, between);
      else if (axes_.reduces_outermost())
        run_slab(slab, x, run.output(), output, between);
      else
        run_slab(slab, x, run.output() + begin * (results / outermost), output, between);
    };
    parallel_parts(threads_, [&](int thread) {
      for (int i = slabs_ * thread / threads_; i < slabs_ * (thread + 1) / threads_; ++i)
        run_one(i, scratch + thread * between_size());
    });
    if (partial_results()) finish(partials, run.output(), slabs_, results, output);
  }

 private:
  static constexpr int kSlabs = 8;
  static constexpr int64_t kRowsOfSlab = 16;

  // Where the outermost axis is reduced, each slab has a result of its own. Their number follows
  // from the sizes alone, so that threads do not show in the bits, and the results of all take at
  // most 1/16 of what is reduced.
  static int slabs_of(const ReducedAxes& axes, int threads) {
    if (axes.reduces_outermost()) {
      const auto most = std::clamp<int64_t>(axes.outermost() / kRowsOfSlab, 1, kSlabs);
      threads = elementwise_threads(axes.size(), {.threads = static_cast<int>(most)});
    }
    return static_cast<int>(std::clamp<int64_t>(axes.outermost(), 1, threads));
  }

  bool partial_results() const { return slabs_ > 1 && axes_.reduces_outermost(); }

  // The first reduction's result; where two more follow, the second's beside it. The third's goes
  // over the first's again.
  int64_t between_size() const {
    int64_t size = 0, rest = axes_.size();
    for (int i = axes_.rank - 1, step = 0; i >= 2 && step < 2; --i) {
      if (!axes_.groups[i].reduced) continue;
      rest /= std::max<int64_t>(axes_.groups[i].extent, 1);
      size += rest;
      ++step;
    }
    return size;
  }

  void run_slab(const ReducedAxes& slab, const float* x, float* y, Output output,
                float* between) const noexcept {
    float* spare = nullptr;
    for (int i = slab.rank - 1; i >= 1; --i) {
      if (!slab.groups[i].reduced) continue;
      const int64_t outer = slab.product(0, i, false), middle = slab.groups[i].extent;
      const int64_t inner = slab.product(i + 1, slab.rank, true);
      float* to = i == 1 ? y : between;
      kernels::reduce_middle(reduction_, x, to, outer, middle, inner);
      if (i == 1) return;
      between = spare != nullptr ? spare : to + outer * inner;
      spare = to;
      x = to;
    }
    if (slab.reduces_outermost()) return finish(x, y, slab.outermost(), slab.kept_size(), output);
    std::memcpy(y, x, static_cast<size_t>(slab.kept_size()) * sizeof(float));
  }

  void finish(const float* x, float* y, int64_t rows, int64_t columns,
              Output output) const noexcept {
    if (columns == 1) {
      const float result = kernels::reduce(reduction_, x, rows);
      *y = output == Output::add ? *y + result : result;
    } else if (reduction_ == Reduction::sum) {
      kernels::column_sums(x, y, rows, columns, output);
    } else {
      kernels::reduce_columns(reduction_, x, y, rows, columns);
    }
  }

  Reduction reduction_;
  ReducedAxes axes_;
  int slabs_, threads_;
};

class Reduce final : public Op {
 public:
  Reduce(std::string_view name, Reduction reduction, const std::vector<int>& axes, bool keepdims)
      : name_(name), reduction_(reduction), axes_(axes), keepdims_(keepdims) {}

  std::string_view name() const override { return name_; }
  std::string attributes() const override {
    return fmt::format("axes={}{}", fmt::join(axes_, ","), keepdims_ ? " keepdims" : "");
  }

  Types infer(const Types& in) const override {
    return {{DType::float32, result_shape(in[0].shape, keepdims_)}};
  }

  Values gradient(const Node& node, const Values& dy) const override {
    const Value x = node.input(0);
    switch (reduction_) {
      case Reduction::max:
      case Reduction::min:
        return {extreme_gradient(x, node.output(), dy[0], axes_)};
      case Reduction::prod:
        return {product_gradient(x, dy[0], axes_)};
      default:
        break;
    }
    const Value kept = keepdims_ ? dy[0] : reshape(dy[0], result_shape(x.shape(), true));
    return {broadcast_to(kept, x.shape())};
  }

  Rows rows(const Types&) const override {
    if (std::ranges::count(axes_, 0) == 0) return Rows::each;
    return reduction_ == Reduction::sum ? Rows::sum : Rows::coupled;
  }

  Cost cost(const Types& in) const override {
    const auto size = static_cast<double>(in[0].shape.size());
    const auto results = static_cast<double>(result_shape(in[0].shape, true).size());
    return {.flops = size, .bytes = (size + results) * sizeof(float)};
  }

  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    return std::make_unique<ReduceKernel>(reduction_, ReducedAxes(in[0].shape, axes_), target);
  }

 private:
  Shape result_shape(const Shape& shape, bool keepdims) const {
    Shape result;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      if (std::ranges::count(axes_, axis) == 0)
        result.push_back(shape.extent(axis));
      else if (keepdims)
        result.push_back(1);
    }
    return result;
  }

  std::string_view name_;
  Reduction reduction_;
  std::vector<int> axes_;  // Counted from the front, sorted.
  bool keepdims_;
};

std::vector<int> checked_axes(Value x, const ReduceOptions& options, std::string_view name) {
  if (!x) throw Error("{}: the value is empty", name);
  if (x.dtype() != DType::float32)
    throw ShapeError("{}: expected float32, got {}; cast it first", name, x.type().text());
  std::vector<int> axes;
  for (const int axis : options.axes) axes.push_back(normalised_axis(axis, x.shape().rank(), name));
  for (int axis = 0; options.axes.empty() && axis < x.shape().rank(); ++axis) axes.push_back(axis);
  std::ranges::sort(axes);
  const auto twice = std::ranges::adjacent_find(axes);
  if (twice != axes.end()) {
    throw ShapeError("{}: axis {} of {} is given twice; give each axis once", name, *twice,
                     x.shape().text());
  }
  return axes;
}

Value reduce(Value x, const ReduceOptions& options, std::string_view name, Reduction reduction) {
  const std::vector<int> axes = checked_axes(x, options, name);
  return x.graph().add<Reduce>({x}, name, reduction, axes, options.keepdims);
}

}  // namespace

Value sum(Value x, const ReduceOptions& options) {
  return reduce(x, options, "sum", Reduction::sum);
}

Value mean(Value x, const ReduceOptions& options) {
  int64_t count = 1;
  for (const int axis : checked_axes(x, options, "mean")) {
    if (x.shape().extent(axis).times_rows) {
      throw ShapeError(
          "mean: axis {} of {} is rows, whose number is known when the step runs; divide the sum "
          "by "
          "tracer.rows(), which in a trace is current_tracer().rows()",
          axis, x.shape().text());
    }
    count *= x.shape()[axis];
  }
  return multiply_scalar(sum(x, options), 1.0f / static_cast<float>(count));
}

Value max(Value x, const ReduceOptions& options) {
  return reduce(x, options, "max", Reduction::max);
}

Value min(Value x, const ReduceOptions& options) {
  return reduce(x, options, "min", Reduction::min);
}

Value product(Value x, const ReduceOptions& options) {
  return reduce(x, options, "product", Reduction::prod);
}

Value sum_to(Value gradient, const Shape& shape) {
  const Shape& from = gradient.shape();
  const int added = from.rank() - shape.rank();
  SNUG_CHECK(added >= 0, "a gradient {} of a value {}", from.text(), shape.text());
  std::vector<int> axes;
  for (int axis = 0; axis < from.rank(); ++axis) {
    const bool broadcast =
        axis < added || (shape.extent(axis - added) == Extent(1) && from.extent(axis) != Extent(1));
    if (broadcast) axes.push_back(axis);
  }
  if (axes.empty()) return gradient;
  const bool only_added = static_cast<int>(axes.size()) == added;
  const Value total = sum(gradient, {.axes = axes, .keepdims = !only_added});
  return total.shape() == shape ? total : reshape(total, shape);
}

}  // namespace snug::ops
