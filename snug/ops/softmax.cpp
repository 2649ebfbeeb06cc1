// Softmax and its logarithm along any axis: y[i] = exp(x[i] - max x) / sum_j exp(x[j] - max x).

#include "snug/kernels/softmax.h"

#include <algorithm>

#include "snug/base/error.h"
#include "snug/base/threads.h"
#include "snug/kernels/strided.h"
#include "snug/ops/elementwise.h"
#include "snug/ops/ops.h"

namespace snug::ops {
namespace {

// A concrete shape around one of its axes: [outer, axis, inner].
struct AroundAxis {
  int64_t outer = 1, extent = 1, inner = 1;

  AroundAxis(const Shape& shape, int axis) : extent(shape[axis]) {
    for (int i = 0; i < axis; ++i) outer *= shape[i];
    for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
  }
  int64_t slab() const { return extent * inner; }
};

// Runs a loop over contiguous rows along the axis. Where the axis is not innermost, a slab is
// turned in scratch, treated there, and turned back.
template <int kInputs>
class AlongAxisKernel final : public Kernel {
 public:
  using Loop = void (*)(const float* const* in, float* out, int64_t rows, int64_t columns);

  AlongAxisKernel(Loop loop, const AroundAxis& around, const Target& target)
      : loop_(loop),
        around_(around),
        threads_(static_cast<int>(std::clamp<int64_t>(
            around.outer, 1, elementwise_threads(around.outer * around.slab(), target)))) {}

  size_t scratch_bytes() const override {
    if (around_.inner == 1) return 0;
    return static_cast<size_t>(threads_ * kInputs * around_.slab()) * sizeof(float);
  }

  std::vector<int> overwrites(int) const override {
    std::vector<int> inputs;
    for (int i = 0; i < kInputs; ++i) inputs.push_back(i);
    return inputs;
  }

  void run(const Run& run) const noexcept override {
    parallel_parts(threads_, [&](int part) {
      const int64_t begin = around_.outer * part / threads_;
      const int64_t end = around_.outer * (part + 1) / threads_;
      if (around_.inner == 1) return run_rows(run, begin, end);
      float* scratch = static_cast<float*>(run.scratch) + part * kInputs * around_.slab();
      for (int64_t slab = begin; slab < end; ++slab) run_turned(run, slab, scratch);
    });
  }

 private:
  void run_rows(const Run& run, int64_t begin, int64_t end) const noexcept {
    const int64_t columns = around_.extent;
    const float* in[kInputs];
    for (int i = 0; i < kInputs; ++i) in[i] = run.input(i) + begin * columns;
    loop_(in, run.output() + begin * columns, end - begin, columns);
  }

  void run_turned(const Run& run, int64_t slab, float* scratch) const noexcept {
    const int64_t size = around_.slab(), columns = around_.extent, rows = around_.inner;
    const float* in[kInputs];
    for (int i = 0; i < kInputs; ++i) {
      kernels::transpose(run.input(i) + slab * size, scratch + i * size, columns, rows);
      in[i] = scratch + i * size;
    }
    loop_(in, scratch, rows, columns);
    kernels::transpose(scratch, run.output() + slab * size, rows, columns);
  }

  Loop loop_;
  AroundAxis around_;
  int threads_;
};

// Rows are apart unless the axis is the axis of rows.
Rows rows_along(int axis) { return axis == 0 ? Rows::coupled : Rows::each; }

// dx from (y, dy).
class SoftmaxGradient final : public Op {
 public:
  SoftmaxGradient(int axis, bool log) : axis_(axis), log_(log) {}

  std::string_view name() const override {
    return log_ ? "log_softmax_gradient" : "softmax_gradient";
  }
  std::string attributes() const override { return fmt::format("axis={}", axis_); }
  Types infer(const Types& in) const override { return {in[0]}; }
  Values gradient(const Node&, const Values&) const override { refuse_second_gradient(name()); }
  Rows rows(const Types&) const override { return rows_along(axis_); }
  Cost cost(const Types& in) const override {
    return elementwise_cost(in, in[0].shape, log_ ? 10 : 4);
  }

  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    const auto plain = [](const float* const* in, float* dx, int64_t rows, int64_t columns) {
      kernels::softmax_gradient(in[0], in[1], dx, rows, columns);
    };
    const auto log = [](const float* const* in, float* dx, int64_t rows, int64_t columns) {
      kernels::log_softmax_gradient(in[0], in[1], dx, rows, columns);
    };
    const AlongAxisKernel<2>::Loop loop = log_ ? +log : +plain;
    return std::make_unique<AlongAxisKernel<2>>(loop, AroundAxis(in[0].shape, axis_), target);
  }

 private:
  int axis_;
  bool log_;
};

class Softmax final : public Op {
 public:
  Softmax(int axis, bool log) : axis_(axis), log_(log) {}

  std::string_view name() const override { return log_ ? "log_softmax" : "softmax"; }
  std::string attributes() const override { return fmt::format("axis={}", axis_); }

  Types infer(const Types& in) const override {
    if (in[0].dtype != DType::float32)
      throw ShapeError("{}: expected float32, got {}; cast it first", name(), in[0].text());
    return {in[0]};
  }

  // Reads y, not x, so that x may be overwritten.
  Values gradient(const Node& node, const Values& dy) const override {
    return {dy[0].graph().add<SoftmaxGradient>({node.output(), dy[0]}, axis_, log_)};
  }

  Rows rows(const Types&) const override { return rows_along(axis_); }
  Cost cost(const Types& in) const override { return elementwise_cost(in, in[0].shape, 12); }

  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    const auto plain = [](const float* const* in, float* y, int64_t rows, int64_t columns) {
      kernels::softmax(in[0], y, rows, columns);
    };
    const auto log = [](const float* const* in, float* y, int64_t rows, int64_t columns) {
      kernels::log_softmax(in[0], y, rows, columns);
    };
    const AlongAxisKernel<1>::Loop loop = log_ ? +log : +plain;
    return std::make_unique<AlongAxisKernel<1>>(loop, AroundAxis(in[0].shape, axis_), target);
  }

 private:
  int axis_;
  bool log_;
};

Value add_softmax(Value x, int axis, bool log) {
  const std::string_view name = log ? "log_softmax" : "softmax";
  if (!x) throw Error("{}: the value is empty", name);
  if (x.shape().rank() == 0)
    throw ShapeError("{}: the value is a single number; it needs an axis to run along", name);
  return x.graph().add<Softmax>({x}, normalised_axis(axis, x.shape().rank(), name), log);
}

}  // namespace

Value softmax(Value x, int axis) { return add_softmax(x, axis, false); }
Value log_softmax(Value x, int axis) { return add_softmax(x, axis, true); }

}  // namespace snug::ops
