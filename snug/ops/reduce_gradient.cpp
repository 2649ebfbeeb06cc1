#include "snug/ops/reduce_gradient.h"

#include "snug/base/threads.h"
#include "snug/kernels/reduce.h"
#include "snug/ops/elementwise.h"
#include "snug/ops/reduced_axes.h"

namespace snug::ops {
namespace {

// What max, min and product share: x, its reduced axes, and a scratch of some floats for each
// result.
class GradientKernel : public Kernel {
 public:
  GradientKernel(const ReducedAxes& axes, int scratch_floats, const Target& target)
      : axes_(axes), scratch_floats_(scratch_floats) {
    if (!axes.reduces_outermost()) {
      threads_ = static_cast<int>(
          std::clamp<int64_t>(axes.outermost(), 1, elementwise_threads(axes.size(), target)));
    }
  }

  size_t scratch_bytes() const override {
    return static_cast<size_t>(scratch_floats_ * axes_.kept_size()) * sizeof(float);
  }
  std::vector<int> overwrites(int) const override { return {0}; }

  void run(const Run& run) const noexcept override {
    parallel_parts(threads_, [&](int part) {
      const int64_t begin = axes_.outermost() * part / threads_;
      ReducedAxes slab = axes_;
      if (slab.rank > 0) slab.groups[0].extent = axes_.outermost() * (part + 1) / threads_ - begin;
      const int64_t outermost = std::max<int64_t>(axes_.outermost(), 1);
      const int64_t y = axes_.reduces_outermost() ? 0 : begin * (axes_.kept_size() / outermost);
      run_slab(run, slab, begin * (axes_.size() / outermost), y);
    });
  }

 protected:
  // The slab begins at element x of the input and at element y of the result.
  virtual void run_slab(const Run& run, const ReducedAxes& slab, int64_t x,
                        int64_t y) const noexcept = 0;

  float* scratch(const Run& run, int64_t y) const {
    return static_cast<float*>(run.scratch) + scratch_floats_ * y;
  }

 private:
  ReducedAxes axes_;
  int scratch_floats_;
  int threads_ = 1;
};

// Loops that the compiler makes vectors of, with an extreme for each element.
void count_extremes(const float* x, const float* y, float* counts, int64_t n) {
  for (int64_t i = 0; i < n; ++i) counts[i] += x[i] == y[i] ? 1.0f : 0.0f;
}
void share_out(const float* x, const float* y, const float* shares, float* dx, int64_t n) {
  for (int64_t i = 0; i < n; ++i) dx[i] = (x[i] == y[i] ? 1.0f : 0.0f) * shares[i];
}

// Inputs (x, y, dy). A NaN in x is its own extreme and equals nothing, so its count is 0 and all of
// its gradients are NaN.
class ExtremeGradientKernel final : public GradientKernel {
 public:
  ExtremeGradientKernel(const ReducedAxes& axes, const Target& target)
      : GradientKernel(axes, 1, target) {}

 private:
  void run_slab(const Run& run, const ReducedAxes& slab, int64_t first_x,
                int64_t first_y) const noexcept override {
    const float *x = run.input(0) + first_x, *y = run.input(1) + first_y;
    const float* dy = run.input(2) + first_y;
    float *dx = run.output() + first_x, *shares = scratch(run, first_y);
    const bool one = slab.innermost_reduced();
    const int64_t results = slab.kept_size();
    std::fill_n(shares, results, 0.0f);
    slab.walk([&](int64_t at, int64_t to, int64_t count) {
      if (one)
        shares[to] += static_cast<float>(kernels::count_equal(x + at, y[to], count));
      else
        count_extremes(x + at, y + to, shares + to, count);
    });
    for (int64_t i = 0; i < results; ++i) shares[i] = dy[i] / shares[i];
    slab.walk([&](int64_t at, int64_t to, int64_t count) {
      if (one)
        kernels::share_out(x + at, y[to], shares[to], dx + at, count);
      else
        share_out(x + at, y + to, shares + to, dx + at, count);
    });
  }
};

// Inputs (x, dy). Of each result: the product of the elements that are not 0, and how many are.
class ProductGradientKernel final : public GradientKernel {
 public:
  ProductGradientKernel(const ReducedAxes& axes, const Target& target)
      : GradientKernel(axes, 2, target) {}

 private:
  struct Factors {
    float product, zeros;
  };

  void run_slab(const Run& run, const ReducedAxes& slab, int64_t first_x,
                int64_t first_y) const noexcept override {
    const float *x = run.input(0) + first_x, *dy = run.input(1) + first_y;
    float* dx = run.output() + first_x;
    auto* factors = reinterpret_cast<Factors*>(scratch(run, first_y));
    const int64_t step = slab.innermost_reduced() ? 0 : 1;
    std::fill_n(factors, slab.kept_size(), Factors{1, 0});
    slab.walk([&](int64_t at, int64_t to, int64_t count) {
      for (int64_t i = 0; i < count; ++i) {
        Factors& f = factors[to + i * step];
        if (x[at + i] == 0)
          f.zeros += 1;
        else
          f.product *= x[at + i];
      }
    });
    slab.walk([&](int64_t at, int64_t to, int64_t count) {
      for (int64_t i = 0; i < count; ++i)
        dx[at + i] = dy[to + i * step] * others(factors[to + i * step], x[at + i]);
    });
  }

  static float others(const Factors& f, float x) {
    if (f.zeros == 0) return f.product / x;
    const bool only_zero = x == 0 && f.zeros == 1;
    return only_zero ? f.product : f.product * 0;
  }
};

template <typename KernelType>
class ReduceGradient final : public Op {
 public:
  ReduceGradient(std::string_view name, const std::vector<int>& axes) : name_(name), axes_(axes) {}

  std::string_view name() const override { return name_; }
  Types infer(const Types& in) const override { return {in[0]}; }
  Values gradient(const Node&, const Values&) const override { refuse_second_gradient(name_); }
  Rows rows(const Types&) const override {
    return std::ranges::count(axes_, 0) > 0 ? Rows::coupled : Rows::each;
  }
  Cost cost(const Types& in) const override {
    const auto size = static_cast<double>(in[0].shape.size());
    const auto results = static_cast<double>(in.back().shape.size());
    return {.flops = 4 * size, .bytes = 2 * (size + results) * sizeof(float)};
  }
  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    return std::make_unique<KernelType>(ReducedAxes(in[0].shape, axes_), target);
  }

 private:
  std::string_view name_;
  std::vector<int> axes_;
};

}  // namespace

Value extreme_gradient(Value x, Value y, Value dy, const std::vector<int>& axes) {
  return x.graph().add<ReduceGradient<ExtremeGradientKernel>>({x, y, dy}, "extreme_gradient", axes);
}

Value product_gradient(Value x, Value dy, const std::vector<int>& axes) {
  return x.graph().add<ReduceGradient<ProductGradientKernel>>({x, dy}, "product_gradient", axes);
}

}  // namespace snug::ops
