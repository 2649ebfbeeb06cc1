#include "snug/ops/batch_norm.h"

#include <algorithm>
#include <cmath>

#include "snug/base/error.h"
#include "snug/kernels/norm.h"
#include "snug/ops/binary.h"
#include "snug/ops/elementwise.h"
#include "snug/ops/partial_sums.h"
#include "snug/ops/unary.h"

namespace snug::ops {
namespace {

using kernels::After;
using kernels::Output;
using Statistics = ChannelStatistics;

Type statistics_type(int64_t channels) {
  return {DType::float32, {int64_t{Statistics::kCount}, channels}};
}

// Sums of x and x^2, and how many elements they count.
enum SumsRow { kSum, kSquares, kElements, kSums };

// Each stretch of rows is added up as distances from its first row, so that the squares keep their
// digits where the mean is large beside the deviation.
class SumsKernel final : public Kernel {
 public:
  SumsKernel(const Shape& x, const Target& target)
      : channels_(x[-1]),
        rows_(x.without(-1).size()),
        threads_(elementwise_threads(x.size(), target)) {}

  size_t scratch_bytes() const override {
    const int64_t doubles = (threads_ - 1) * kSums * channels_ + threads_ * 2 * channels_;
    return static_cast<size_t>(doubles) * sizeof(double);
  }
  bool accumulates() const override { return true; }

  void run(const Run& run) const noexcept override {
    auto* partials = static_cast<double*>(run.scratch);
    double* local = partials + (threads_ - 1) * kSums * channels_;
    sum_in_stretches(rows_, threads_, run.output<double>(), kSums * channels_, partials,
                     run.accumulate ? Output::add : Output::write,
                     [&](int stretch, int64_t begin, int64_t end, double* sums, Output output) {
                       const float* x = run.input(0) + begin * channels_;
                       double* distances = local + stretch * 2 * channels_;
                       kernels::batch_norm_sums(x, x, distances, distances + channels_, end - begin,
                                                channels_, Output::write);
                       finish(x, end - begin, distances, sums, output);
                     });
  }

 private:
  // With d = x - p: sum x = sum d + n p, sum x^2 = sum d^2 + 2 p sum d + n p^2.
  void finish(const float* first_row, int64_t rows, const double* distances, double* sums,
              Output output) const noexcept {
    const auto count = static_cast<double>(rows);
    if (output == Output::write) std::fill_n(sums, kSums * channels_, 0.0);
    for (int64_t c = 0; c < channels_; ++c) {
      const double p = first_row[c], sum = distances[c], squares = distances[channels_ + c];
      sums[kSum * channels_ + c] += sum + count * p;
      sums[kSquares * channels_ + c] += squares + p * (2 * sum + count * p);
      sums[kElements * channels_ + c] += count;
    }
  }

  int64_t channels_, rows_;
  int threads_;
};

class BatchNormSums final : public Op {
 public:
  std::string_view name() const override { return "batch_norm_sums"; }
  Types infer(const Types& in) const override {
    return {{DType::float64, {int64_t{kSums}, in[0].shape.extent(-1)}}};
  }
  Values gradient(const Node&, const Values&) const override { refuse_second_gradient(name()); }
  Rows rows(const Types&) const override { return Rows::sum; }
  Cost cost(const Types& in) const override {
    const auto size = static_cast<double>(in[0].shape.size());
    return {.flops = 3 * size, .bytes = size * sizeof(float)};
  }
  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    return std::make_unique<SumsKernel>(in[0].shape, target);
  }
};

// Statistics from sums, or from moving averages. Neither has rows.
class StatisticsKernel final : public Kernel {
 public:
  StatisticsKernel(bool from_sums, int64_t channels, float epsilon)
      : from_sums_(from_sums), channels_(channels), epsilon_(epsilon) {}

  void run(const Run& run) const noexcept override {
    for (int64_t c = 0; c < channels_; ++c) {
      double mean, variance, inverse_count = 0;
      if (from_sums_) {
        const double* sums = run.input<double>(0) + c;
        inverse_count = 1 / sums[kElements * channels_];
        mean = sums[kSum * channels_] * inverse_count;
        variance = sums[kSquares * channels_] * inverse_count - mean * mean;
        if (variance < 0) variance = 0;
      } else {
        mean = run.input(0)[c];
        variance = run.input(1)[c];
      }
      float* out = run.output() + c;
      out[Statistics::kMean * channels_] = static_cast<float>(mean);
      out[Statistics::kRstd * channels_] = static_cast<float>(1 / std::sqrt(variance + epsilon_));
      out[Statistics::kVariance * channels_] = static_cast<float>(variance);
      out[Statistics::kInverseCount * channels_] = static_cast<float>(inverse_count);
    }
  }

 private:
  bool from_sums_;
  int64_t channels_;
  float epsilon_;
};

class BatchNormStatistics final : public Op {
 public:
  BatchNormStatistics(bool from_sums, float epsilon) : from_sums_(from_sums), epsilon_(epsilon) {}

  std::string_view name() const override {
    return from_sums_ ? "batch_norm_statistics" : "batch_norm_moving_statistics";
  }
  std::string attributes() const override { return fmt::format("epsilon={}", epsilon_); }
  Types infer(const Types& in) const override { return {statistics_type(in[0].shape[-1])}; }
  // The gradient of x through its own statistics is part of batch_normalise's.
  Values gradient(const Node& node, const Values&) const override {
    return Values(node.in().size());
  }
  Cost cost(const Types& in) const override {
    const auto channels = static_cast<double>(in[0].shape[-1]);
    return {.flops = 20 * channels, .bytes = 40 * channels};
  }
  std::unique_ptr<Kernel> kernel(const Types& in, const Target&) const override {
    return std::make_unique<StatisticsKernel>(from_sums_, in[0].shape[-1], epsilon_);
  }

 private:
  bool from_sums_;
  float epsilon_;
};

// scale = gamma * rstd and shift = beta - mean * scale, from (statistics, gamma, beta), the last
// two where they are given.
class ScaleKernel final : public Kernel {
 public:
  ScaleKernel(int64_t channels, int gamma, int beta)
      : channels_(channels), gamma_(gamma), beta_(beta) {}

  void run(const Run& run) const noexcept override {
    const Statistics statistics{run.input(0), channels_};
    const float *mean = statistics.row(Statistics::kMean),
                *rstd = statistics.row(Statistics::kRstd);
    float *scale = run.output(0), *shift = run.output(1);
    for (int64_t c = 0; c < channels_; ++c) {
      scale[c] = rstd[c] * (gamma_ > 0 ? run.input(gamma_)[c] : 1);
      shift[c] = (beta_ > 0 ? run.input(beta_)[c] : 0) - mean[c] * scale[c];
    }
  }

 private:
  int64_t channels_;
  int gamma_, beta_;  // Positions among the inputs, 0 where there is none.
};

class BatchNormScale final : public Op {
 public:
  BatchNormScale(bool has_gamma, bool has_beta)
      : gamma_(has_gamma ? 1 : 0), beta_(has_beta ? (has_gamma ? 2 : 1) : 0) {}

  Value gamma(const Node& node) const { return gamma_ > 0 ? node.input(gamma_) : Value(); }

  std::string_view name() const override { return "batch_norm_scale"; }
  Types infer(const Types& in) const override {
    const Type channel{DType::float32, {in[0].shape.extent(-1)}};
    return {channel, channel};
  }
  // What comes back from BatchNormalise is that of gamma and beta already.
  Values gradient(const Node& node, const Values& from_normalise) const override {
    Values gradients(node.in().size());
    if (gamma_ > 0) gradients[gamma_] = from_normalise[0];
    if (beta_ > 0) gradients[beta_] = from_normalise[1];
    return gradients;
  }
  Cost cost(const Types& in) const override {
    const auto channels = static_cast<double>(in[0].shape[-1]);
    return {.flops = 4 * channels, .bytes = 24 * channels};
  }
  std::unique_ptr<Kernel> kernel(const Types& in, const Target&) const override {
    return std::make_unique<ScaleKernel>(in[0].shape[-1], gamma_, beta_);
  }

 private:
  int gamma_, beta_;
};

class NormaliseKernel final : public Kernel {
 public:
  NormaliseKernel(const Shape& x, const Target& target)
      : channels_(x[-1]),
        rows_(x.without(-1).size()),
        threads_(elementwise_threads(x.size(), target)) {}

  std::vector<int> overwrites(int) const override { return {0}; }

  void run(const Run& run) const noexcept override {
    parallel_ranges(rows_, threads_, 1, [&](int64_t begin, int64_t end) {
      kernels::batch_norm_apply(run.input(0) + begin * channels_, run.input(1), run.input(2),
                                run.output() + begin * channels_, end - begin, channels_);
    });
  }

 private:
  int64_t channels_, rows_;
  int threads_;
};

// y = x * scale + shift, as TensorFlow computes it, from (x, scale, shift) of a BatchNormScale.
class BatchNormalise final : public Op, private ElementwiseBlock {
 public:
  explicit BatchNormalise(bool of_batch) : of_batch_(of_batch) {}

  std::string_view name() const override { return "batch_norm_normalise"; }
  std::string attributes() const override { return of_batch_ ? "" : "fixed"; }
  Types infer(const Types& in) const override { return {in[0]}; }

  Values gradient(const Node& node, const Values& dy) const override {
    const Node& from = *node.input(1).producer();
    const auto& scale = static_cast<const BatchNormScale&>(from.op());
    const BatchNormInputs inputs{.x = node.input(0),
                                 .statistics = from.input(0),
                                 .gamma = scale.gamma(from),
                                 .scale = node.input(1),
                                 .shift = node.input(2)};
    const BatchNormGradients found = gradients_of(inputs, node.output(), dy[0]);
    return {found.dx, found.dgamma, found.dbeta};
  }

  Rows rows(const Types&) const override { return Rows::each; }
  Cost cost(const Types& in) const override { return elementwise_cost(in, in[0].shape, 2); }
  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    return std::make_unique<NormaliseKernel>(in[0].shape, target);
  }
  const ElementwiseBlock* elementwise() const override { return this; }

 private:
  void run_block(const float* const* in, float* out, int64_t count,
                 const BlockPlace&) const noexcept override {
    kernels::batch_norm_apply(in[0], in[1], in[2], out, 1, count);
  }

  // A rectification that alone reads y is passed over: its gradient is part of ours. Not where an
  // element-wise op or a broadcast made the gradient of its result: there it costs no pass.
  BatchNormGradients gradients_of(const BatchNormInputs& in, Value y, Value dy) const {
    const Rectified rectified = rectified_gradient(y, dy);
    if (!of_batch_ || rectified.function == nullptr || is_cheap(rectified.dy.producer()))
      return batch_norm_gradients(in, dy, of_batch_);
    return batch_norm_gradients(in, rectified.dy, of_batch_,
                                is_relu(*rectified.function) ? After::relu : After::relu6);
  }

  static bool is_cheap(const Node* node) {
    return node != nullptr && (node->op().elementwise() != nullptr || is_broadcast_to(node->op()));
  }

  bool of_batch_;
};

// moving = moving * momentum + batch * (1 - momentum), of (moving_mean, moving_variance,
// statistics).
class UpdateKernel final : public Kernel {
 public:
  UpdateKernel(int64_t channels, double momentum)
      : channels_(channels),
        momentum_(static_cast<float>(momentum)),
        rest_(static_cast<float>(1 - momentum)) {}

  void run(const Run& run) const noexcept override {
    const Statistics statistics{run.input(2), channels_};
    update(const_cast<float*>(run.input(0)), statistics.row(Statistics::kMean));
    update(const_cast<float*>(run.input(1)), statistics.row(Statistics::kVariance));
  }

 private:
  void update(float* moving, const float* batch) const noexcept {
    for (int64_t c = 0; c < channels_; ++c) moving[c] = moving[c] * momentum_ + batch[c] * rest_;
  }

  int64_t channels_;
  float momentum_, rest_;
};

class BatchNormUpdate final : public Op {
 public:
  explicit BatchNormUpdate(double momentum) : momentum_(momentum) {}

  std::string_view name() const override { return "batch_norm_update"; }
  std::string attributes() const override { return fmt::format("momentum={}", momentum_); }
  Types infer(const Types&) const override { return {}; }
  Values gradient(const Node&, const Values&) const override { return Values(3); }
  Traits traits() const override { return {.writes = {0, 1}}; }
  Cost cost(const Types& in) const override {
    const auto channels = static_cast<double>(in[0].shape.size());
    return {.flops = 6 * channels, .bytes = 24 * channels};
  }
  std::unique_ptr<Kernel> kernel(const Types& in, const Target&) const override {
    return std::make_unique<UpdateKernel>(in[0].shape.size(), momentum_);
  }

 private:
  double momentum_;
};

void check(Value x, Value moving_mean, Value moving_variance, const BatchNormOptions& options) {
  if (!x) throw Error("batch_norm: the value is empty");
  if (x.dtype() != DType::float32 || x.shape().rank() == 0 || x.shape().extent(-1).times_rows)
    throw ShapeError("batch_norm: expected float32[..., channels], got {}", x.type().text());
  const Type wanted{DType::float32, {x.shape().extent(-1)}};
  const std::pair<std::string_view, Value> given[] = {{"moving_mean", moving_mean},
                                                      {"moving_variance", moving_variance},
                                                      {"gamma", options.gamma},
                                                      {"beta", options.beta}};
  for (const auto& [name, value] : given) {
    if (value && value.type() != wanted) {
      throw ShapeError("batch_norm: {} is {}, but a value {} wants {}", name, value.type().text(),
                       x.type().text(), wanted.text());
    }
  }
  if (!moving_mean || !moving_variance)
    throw Error("batch_norm: moving_mean and moving_variance must be given");
}

}  // namespace

bool is_batch_normalise(const Op& op) {
  return dynamic_cast<const BatchNormalise*>(&op) != nullptr;
}

Value batch_statistics(Value x, float epsilon) {
  Graph& graph = x.graph();
  return graph.add<BatchNormStatistics>({graph.add<BatchNormSums>({x})}, true, epsilon);
}

Value batch_normalise(Value x, Value statistics, const BatchNormOptions& options, bool of_batch) {
  Graph& graph = x.graph();
  Values in = {statistics};
  if (options.gamma) in.push_back(options.gamma);
  if (options.beta) in.push_back(options.beta);
  const Values scale = graph.add_all<BatchNormScale>(in, static_cast<bool>(options.gamma),
                                                     static_cast<bool>(options.beta));
  return graph.add<BatchNormalise>({x, scale[0], scale[1]}, of_batch);
}

Value batch_norm_training(Value x, Value moving_mean, Value moving_variance,
                          const BatchNormOptions& options) {
  check(x, moving_mean, moving_variance, options);
  const Value statistics = batch_statistics(x, options.epsilon);
  x.graph().add_all<BatchNormUpdate>({moving_mean, moving_variance, statistics}, options.momentum);
  return batch_normalise(x, statistics, options, true);
}

Value batch_norm_inference(Value x, Value moving_mean, Value moving_variance,
                           const BatchNormOptions& options) {
  check(x, moving_mean, moving_variance, options);
  const Value statistics =
      x.graph().add<BatchNormStatistics>({moving_mean, moving_variance}, false, options.epsilon);
  return batch_normalise(x, statistics, options, false);
}

}  // namespace snug::ops
