// Layer normalisation over the last axes and RMS normalisation over the last one. The forward pass
// keeps the mean and 1 / deviation of each row of those axes; the gradient reads x and them.

#include <algorithm>

#include "snug/base/error.h"
#include "snug/base/threads.h"
#include "snug/kernels/norm.h"
#include "snug/ops/elementwise.h"
#include "snug/ops/ops.h"
#include "snug/ops/parameter_sums.h"

namespace snug::ops {
namespace {

// What the layer and the RMS form share. RMS has a scale (gamma) only, and no mean.
struct Norm {
  bool rms = false;
  int axes = 1;
  float epsilon = 1e-3f;
  bool has_gamma = false, has_beta = false;

  std::string_view name() const { return rms ? "rms_norm" : "layer_norm"; }
  Shape leading(const Shape& x) const { return x.part(0, x.rank() - axes); }
  Shape normalised(const Shape& x) const { return x.part(x.rank() - axes, x.rank()); }
};

// A concrete x as a matrix: what is normalised is a row.
struct NormMatrix {
  Norm norm;
  int64_t rows, columns;

  NormMatrix(const Norm& norm, const Shape& x)
      : norm(norm), rows(norm.leading(x).size()), columns(norm.normalised(x).size()) {}

  kernels::LayerNorm stretch(int64_t count, const float* gamma, const float* beta) const {
    return {count, columns, gamma, beta, norm.epsilon};
  }
};

// (x, gamma, beta) -> (y, rstd, mean).
class NormKernel final : public Kernel {
 public:
  NormKernel(const NormMatrix& matrix, const Target& target)
      : matrix_(matrix), threads_(elementwise_threads(matrix.rows * matrix.columns, target)) {}

  std::vector<int> overwrites(int output) const override {
    return output == 0 ? std::vector<int>{0} : std::vector<int>{};
  }

  void run(const Run& run) const noexcept override {
    const Norm& norm = matrix_.norm;
    const float* gamma = norm.has_gamma ? run.input(1) : nullptr;
    const float* beta = norm.has_beta ? run.input(norm.has_gamma ? 2 : 1) : nullptr;
    parallel_ranges(matrix_.rows, threads_, 1, [&](int64_t begin, int64_t end) {
      const kernels::LayerNorm stretch = matrix_.stretch(end - begin, gamma, beta);
      const float* x = run.input(0) + begin * matrix_.columns;
      float* y = run.output(0) + begin * matrix_.columns;
      if (norm.rms)
        kernels::rms_norm(stretch, x, y, run.output(1) + begin);
      else
        kernels::layer_norm(stretch, x, y, run.output(2) + begin, run.output(1) + begin);
    });
  }

 private:
  NormMatrix matrix_;
  int threads_;
};

// (x, dy, rstd, mean, gamma) -> dx; RMS without the mean.
class NormGradientKernel final : public Kernel {
 public:
  NormGradientKernel(const NormMatrix& matrix, const Target& target)
      : matrix_(matrix), threads_(elementwise_threads(matrix.rows * matrix.columns, target)) {}

  std::vector<int> overwrites(int) const override { return {1, 0}; }

  void run(const Run& run) const noexcept override {
    const Norm& norm = matrix_.norm;
    const float* gamma = norm.has_gamma ? run.input(norm.rms ? 3 : 4) : nullptr;
    parallel_ranges(matrix_.rows, threads_, 1, [&](int64_t begin, int64_t end) {
      const kernels::LayerNorm stretch = matrix_.stretch(end - begin, gamma, nullptr);
      const int64_t at = begin * matrix_.columns;
      const float *x = run.input(0) + at, *dy = run.input(1) + at, *rstd = run.input(2) + begin;
      if (norm.rms)
        kernels::rms_norm_gradient(stretch, x, dy, rstd, run.output() + at);
      else
        kernels::layer_norm_gradient(stretch, x, dy, run.input(3) + begin, rstd, run.output() + at);
    });
  }

 private:
  NormMatrix matrix_;
  int threads_;
};

class NormGradient final : public Op {
 public:
  explicit NormGradient(const Norm& norm)
      : norm_(norm), name_(std::string(norm.name()) + "_gradient") {}

  std::string_view name() const override { return name_; }
  Types infer(const Types& in) const override { return {in[0]}; }
  Values gradient(const Node&, const Values&) const override { refuse_second_gradient(name_); }
  Rows rows(const Types&) const override { return Rows::each; }
  Cost cost(const Types& in) const override { return elementwise_cost(in, in[0].shape, 10); }
  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    return std::make_unique<NormGradientKernel>(NormMatrix(norm_, in[0].shape), target);
  }

 private:
  Norm norm_;
  std::string name_;
};

// (x, dy, rstd, mean) -> dgamma, dbeta of those that there are; RMS without the mean.
class NormParameterGradient final : public Op {
 public:
  explicit NormParameterGradient(const Norm& norm)
      : norm_(norm), name_(std::string(norm.name()) + "_parameter_gradient") {}

  std::string_view name() const override { return name_; }
  Types infer(const Types& in) const override {
    return Types(norm_.has_gamma + norm_.has_beta, {DType::float32, norm_.normalised(in[0].shape)});
  }
  Values gradient(const Node&, const Values&) const override { refuse_second_gradient(name_); }
  Rows rows(const Types&) const override { return Rows::sum; }
  Cost cost(const Types& in) const override {
    const auto size = static_cast<double>(in[0].shape.size());
    return {.flops = 5 * size, .bytes = 2 * size * sizeof(float)};
  }

  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    const NormMatrix matrix(norm_, in[0].shape);
    const auto loop = [matrix](const Run& run, int64_t begin, int64_t end, float* dgamma,
                               float* dbeta, kernels::Output output) {
      const int64_t at = begin * matrix.columns;
      kernels::layer_norm_parameter_gradients(matrix.stretch(end - begin, nullptr, nullptr),
                                              run.input(0) + at, run.input(1) + at,
                                              matrix.norm.rms ? nullptr : run.input(3) + begin,
                                              run.input(2) + begin, dgamma, dbeta, output);
    };
    return parameter_sums_kernel({matrix.rows, matrix.columns, norm_.has_gamma, norm_.has_beta},
                                 elementwise_threads(in[0].shape.size(), target), loop);
  }

 private:
  Norm norm_;
  std::string name_;
};

class NormOp final : public Op {
 public:
  explicit NormOp(const Norm& norm) : norm_(norm) {}

  std::string_view name() const override { return norm_.name(); }
  std::string attributes() const override {
    return fmt::format("axes={} epsilon={}", norm_.axes, norm_.epsilon);
  }

  Types infer(const Types& in) const override {
    const Type statistic{DType::float32, norm_.leading(in[0].shape)};
    if (norm_.rms) return {in[0], statistic};
    return {in[0], statistic, statistic};
  }

  Values gradient(const Node& node, const Values& dy) const override {
    Values in = {node.input(0), dy[0], node.output(1)};
    if (!norm_.rms) in.push_back(node.output(2));
    Values gradients(1);
    if (norm_.has_gamma || norm_.has_beta) {
      const Values parameters = node.graph().add_all<NormParameterGradient>(in, norm_);
      gradients.insert(gradients.end(), parameters.begin(), parameters.end());
    }
    if (norm_.has_gamma) in.push_back(node.input(1));
    gradients[0] = node.graph().add<NormGradient>(in, norm_);
    return gradients;
  }

  Rows rows(const Types&) const override { return Rows::each; }
  Cost cost(const Types& in) const override { return elementwise_cost(in, in[0].shape, 7); }
  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    return std::make_unique<NormKernel>(NormMatrix(norm_, in[0].shape), target);
  }

 private:
  Norm norm_;
};

Value add_norm(const Norm& norm, Value x, Value gamma, Value beta) {
  const std::string_view name = norm.name();
  if (!x) throw Error("{}: the value is empty", name);
  if (x.dtype() != DType::float32)
    throw ShapeError("{}: expected float32, got {}; cast it first", name, x.type().text());
  const int rank = x.shape().rank();
  if (norm.axes < 1 || norm.axes > rank || norm.normalised(x.shape()).is_symbolic()) {
    throw ShapeError("{}: {} has no {} axes to normalise over beside its rows", name,
                     x.type().text(), norm.axes);
  }
  const Type wanted{DType::float32, norm.normalised(x.shape())};
  Values in = {x};
  for (const Value& parameter : {gamma, beta}) {
    if (!parameter) continue;
    if (parameter.type() != wanted) {
      throw ShapeError("{}: {} is {}, but a value {} wants {}", name,
                       parameter == gamma ? (norm.rms ? "the scale" : "gamma") : "beta",
                       parameter.type().text(), x.type().text(), wanted.text());
    }
    in.push_back(parameter);
  }
  return x.graph().add<NormOp>(in, norm);
}

}  // namespace

Value layer_norm(Value x, const LayerNormOptions& options) {
  return add_norm({.axes = options.axes,
                   .epsilon = options.epsilon,
                   .has_gamma = static_cast<bool>(options.gamma),
                   .has_beta = static_cast<bool>(options.beta)},
                  x, options.gamma, options.beta);
}

Value rms_norm(Value x, Value scale, float epsilon) {
  return add_norm({.rms = true, .epsilon = epsilon, .has_gamma = static_cast<bool>(scale)}, x,
                  scale, Value());
}

}  // namespace snug::ops
