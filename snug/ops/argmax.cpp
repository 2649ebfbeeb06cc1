// The place of the largest element along an axis; the first of equals, and the first NaN before all
// others.

#include <algorithm>

#include "snug/base/error.h"
#include "snug/base/threads.h"
#include "snug/kernels/reduce.h"
#include "snug/ops/elementwise.h"
#include "snug/ops/ops.h"

namespace snug::ops {
namespace {

// Of x [outer, extent, inner] along its middle axis.
class ArgMaxKernel final : public Kernel {
 public:
  ArgMaxKernel(const Shape& x, int axis, const Target& target)
      : outer_(x.part(0, axis).size()),
        extent_(x[axis]),
        inner_(x.part(axis + 1, x.rank()).size()),
        threads_(elementwise_threads(x.size(), target)) {}

  void run(const Run& run) const noexcept override {
    const int64_t slab = extent_ * inner_;
    parallel_ranges(outer_, threads_, 1, [&](int64_t begin, int64_t end) {
      const float* x = run.input(0) + begin * slab;
      int32_t* y = run.output<int32_t>() + begin * inner_;
      if (inner_ == 1) return kernels::arg_max_rows(x, y, end - begin, extent_);
      for (int64_t i = begin; i < end; ++i, x += slab, y += inner_) run_slab(x, y);
    });
  }

 private:
  void run_slab(const float* x, int32_t* y) const noexcept {
    std::fill_n(y, inner_, 0);
    for (int64_t j = 1; j < extent_; ++j) {
      for (int64_t i = 0; i < inner_; ++i) {
        const float best = x[y[i] * inner_ + i], next = x[j * inner_ + i];
        if (next > best || (next != next && best == best)) y[i] = static_cast<int32_t>(j);
      }
    }
  }

  int64_t outer_, extent_, inner_;
  int threads_;
};

class ArgMax final : public Op {
 public:
  explicit ArgMax(int axis) : axis_(axis) {}

  std::string_view name() const override { return "argmax"; }
  std::string attributes() const override { return fmt::format("axis={}", axis_); }
  Types infer(const Types& in) const override {
    return {{DType::int32, in[0].shape.without(axis_)}};
  }
  Values gradient(const Node&, const Values&) const override { return {Value()}; }
  Rows rows(const Types&) const override { return axis_ == 0 ? Rows::coupled : Rows::each; }
  Cost cost(const Types& in) const override {
    return {.flops = static_cast<double>(in[0].shape.size()),
            .bytes = static_cast<double>(in[0].bytes() + infer(in)[0].bytes())};
  }
  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    return std::make_unique<ArgMaxKernel>(in[0].shape, axis_, target);
  }

 private:
  int axis_;
};

}  // namespace

Value argmax(Value x, int axis) {
  if (!x) throw Error("argmax: the value is empty");
  if (x.dtype() != DType::float32)
    throw ShapeError("argmax: expected float32, got {}; cast it first", x.type().text());
  const int from_front = normalised_axis(axis, x.shape().rank(), "argmax");
  if (x.shape().extent(from_front) == Extent(0))
    throw ShapeError("argmax: axis {} of {} has no elements", axis, x.shape().text());
  return x.graph().add<ArgMax>({x}, from_front);
}

}  // namespace snug::ops
