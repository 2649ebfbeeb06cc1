// With xhat = (x - mean) * rstd over m elements a channel:
//   dbeta = sum dy, dgamma = sum dy * xhat,
//   dx = gamma * rstd * (dy - dbeta / m - xhat * dgamma / m).
// Where a relu or relu6 follows, dy is that of its result; two more inputs, scale and shift, tell
// its slope (see docs/decisions/0021).

#include "snug/base/error.h"
#include "snug/kernels/norm.h"
#include "snug/ops/batch_norm.h"
#include "snug/ops/elementwise.h"
#include "snug/ops/partial_sums.h"

namespace snug::ops {
namespace {

using kernels::Output;
using Statistics = ChannelStatistics;

using kernels::After;

std::string text_of(After after) {
  return after == After::nothing ? "" : after == After::relu ? "after=relu" : "after=relu6";
}

// From the inputs, scale and shift at `first`.
kernels::BatchNormSlope slope_of(After after, const Run& run, int first) {
  if (after == After::nothing) return {};
  return {.after = after, .scale = run.input(first), .shift = run.input(first + 1)};
}

// From (x, dy, statistics): sums of dy and of dy * xhat, [2, channels].
class GradientSumsKernel final : public Kernel {
 public:
  GradientSumsKernel(const Shape& x, After after, const Target& target)
      : after_(after),
        channels_(x[-1]),
        rows_(x.without(-1).size()),
        threads_(elementwise_threads(x.size(), target)) {}

  size_t scratch_bytes() const override {
    return static_cast<size_t>((threads_ - 1) * 2 * channels_) * sizeof(double);
  }
  bool accumulates() const override { return true; }

  void run(const Run& run) const noexcept override {
    const Statistics statistics{run.input(2), channels_};
    const kernels::BatchNormSlope slope = slope_of(after_, run, 3);
    sum_in_stretches(rows_, threads_, run.output<double>(), 2 * channels_,
                     static_cast<double*>(run.scratch),
                     run.accumulate ? Output::add : Output::write,
                     [&](int, int64_t begin, int64_t end, double* sums, Output output) {
                       const int64_t at = begin * channels_;
                       kernels::batch_norm_gradient_sums(
                           run.input(0) + at, run.input(1) + at, statistics.row(Statistics::kMean),
                           statistics.row(Statistics::kRstd), sums, sums + channels_, end - begin,
                           channels_, output, slope);
                     });
  }

 private:
  After after_;
  int64_t channels_, rows_;
  int threads_;
};

class GradientSums final : public Op {
 public:
  explicit GradientSums(After after) : after_(after) {}

  std::string_view name() const override { return "batch_norm_gradient_sums"; }
  std::string attributes() const override { return text_of(after_); }
  Types infer(const Types& in) const override {
    return {{DType::float64, {2, in[0].shape.extent(-1)}}};
  }
  Values gradient(const Node&, const Values&) const override { refuse_second_gradient(name()); }
  Rows rows(const Types&) const override { return Rows::sum; }
  Cost cost(const Types& in) const override {
    const auto size = static_cast<double>(in[0].shape.size());
    return {.flops = 5 * size, .bytes = 2 * size * sizeof(float)};
  }
  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    return std::make_unique<GradientSumsKernel>(in[0].shape, after_, target);
  }

 private:
  After after_;
};

// From (sums, statistics, gamma): the coefficients a, b, d of dx = a * dy + b * x + d, then dgamma
// and dbeta.
class CoefficientsKernel final : public Kernel {
 public:
  CoefficientsKernel(int64_t channels, bool has_gamma)
      : channels_(channels), has_gamma_(has_gamma) {}

  void run(const Run& run) const noexcept override {
    const double *sum_dy = run.input<double>(0), *sum_dy_xhat = sum_dy + channels_;
    const Statistics statistics{run.input(1), channels_};
    float *a = run.output(0), *b = run.output(1), *d = run.output(2);
    for (int64_t c = 0; c < channels_; ++c) {
      const double mean = statistics.row(Statistics::kMean)[c];
      const double rstd = statistics.row(Statistics::kRstd)[c];
      const double share = statistics.row(Statistics::kInverseCount)[c];
      const double scale = rstd * (has_gamma_ ? run.input(2)[c] : 1);
      const double slope = -scale * rstd * sum_dy_xhat[c] * share;
      a[c] = static_cast<float>(scale);
      b[c] = static_cast<float>(slope);
      d[c] = static_cast<float>(-scale * sum_dy[c] * share - slope * mean);
      run.output(3)[c] = static_cast<float>(sum_dy_xhat[c]);
      run.output(4)[c] = static_cast<float>(sum_dy[c]);
    }
  }

 private:
  int64_t channels_;
  bool has_gamma_;
};

class Coefficients final : public Op {
 public:
  std::string_view name() const override { return "batch_norm_gradient_coefficients"; }
  Types infer(const Types& in) const override {
    return Types(5, {DType::float32, {in[0].shape.extent(-1)}});
  }
  Values gradient(const Node&, const Values&) const override { refuse_second_gradient(name()); }
  Cost cost(const Types& in) const override {
    const auto channels = static_cast<double>(in[0].shape[-1]);
    return {.flops = 12 * channels, .bytes = 52 * channels};
  }
  std::unique_ptr<Kernel> kernel(const Types& in, const Target&) const override {
    return std::make_unique<CoefficientsKernel>(in[0].shape[-1], in.size() == 3);
  }
};

class InputGradientKernel final : public Kernel {
 public:
  InputGradientKernel(const Shape& x, After after, const Target& target)
      : after_(after),
        channels_(x[-1]),
        rows_(x.without(-1).size()),
        threads_(elementwise_threads(x.size(), target)) {}

  std::vector<int> overwrites(int) const override { return {1, 0}; }

  void run(const Run& run) const noexcept override {
    parallel_ranges(rows_, threads_, 1, [&](int64_t begin, int64_t end) {
      const int64_t at = begin * channels_;
      kernels::batch_norm_gradient(run.input(0) + at, run.input(1) + at, run.input(2), run.input(3),
                                   run.input(4), run.output() + at, end - begin, channels_,
                                   slope_of(after_, run, 5));
    });
  }

 private:
  After after_;
  int64_t channels_, rows_;
  int threads_;
};

// From (x, dy, a, b, d).
class InputGradient final : public Op, private ElementwiseBlock {
 public:
  explicit InputGradient(After after) : after_(after) {}

  std::string_view name() const override { return "batch_norm_input_gradient"; }
  std::string attributes() const override { return text_of(after_); }
  Types infer(const Types& in) const override { return {in[0]}; }
  Values gradient(const Node&, const Values&) const override { refuse_second_gradient(name()); }
  Rows rows(const Types&) const override { return Rows::each; }
  Cost cost(const Types& in) const override { return elementwise_cost(in, in[0].shape, 4); }
  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    return std::make_unique<InputGradientKernel>(in[0].shape, after_, target);
  }
  const ElementwiseBlock* elementwise() const override { return this; }

 private:
  void run_block(const float* const* in, float* out, int64_t count,
                 const BlockPlace&) const noexcept override {
    kernels::BatchNormSlope slope{.after = after_};
    if (after_ != After::nothing) slope = {after_, in[5], in[6]};
    kernels::batch_norm_gradient(in[0], in[1], in[2], in[3], in[4], out, 1, count, slope);
  }

  After after_;
};

}  // namespace

// Where the statistics are constants, dx = dy * gamma * rstd.
BatchNormGradients batch_norm_gradients(const BatchNormInputs& in, Value dy, bool of_batch,
                                        After after) {
  SNUG_CHECK(of_batch || after == After::nothing, "fixed statistics, and {}", text_of(after));
  Graph& graph = dy.graph();
  const auto with_slope = [&](Values values) {
    if (after != After::nothing) values.insert(values.end(), {in.scale, in.shift});
    return values;
  };
  const Value sums = graph.add<GradientSums>(with_slope({in.x, dy, in.statistics}), after);
  Values finishing = {sums, in.statistics};
  if (in.gamma) finishing.push_back(in.gamma);
  const Values made = graph.add_all<Coefficients>(finishing);
  const Values last = with_slope({in.x, dy, made[0], made[1], made[2]});
  const Value dx = of_batch ? graph.add<InputGradient>(last, after) : multiply(dy, in.scale);
  return {.dx = dx, .dgamma = made[3], .dbeta = made[4]};
}

}  // namespace snug::ops
