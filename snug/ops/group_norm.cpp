// Group normalisation: the channels of a row are cut into groups, each normalised over its channels
// and all places between the first and the last axis.

#include "snug/base/error.h"
#include "snug/base/threads.h"
#include "snug/kernels/norm.h"
#include "snug/ops/elementwise.h"
#include "snug/ops/ops.h"
#include "snug/ops/parameter_sums.h"

namespace snug::ops {
namespace {

struct Groups {
  int64_t count = 1;
  float epsilon = 1e-3f;
  bool has_gamma = false, has_beta = false;

  // The loop's own words for `rows` rows of a concrete x.
  kernels::GroupNorm norm(const Shape& x, const float* gamma, const float* beta) const {
    return {.rows = x[0],
            .spatial = x.part(1, x.rank() - 1).size(),
            .channels = x[-1],
            .groups = count,
            .gamma = gamma,
            .beta = beta,
            .epsilon = epsilon};
  }
};

// What the three kernels share: calls loop(norm, first row) for stretches of rows.
class GroupKernel : public Kernel {
 public:
  GroupKernel(const Groups& groups, const Shape& x, const Target& target)
      : groups_(groups),
        whole_(groups.norm(x, nullptr, nullptr)),
        row_size_(whole_.spatial * whole_.channels),
        threads_(elementwise_threads(x.size(), target)) {}

 protected:
  template <typename Loop>
  void in_stretches(const float* gamma, const float* beta, const Loop& loop) const noexcept {
    parallel_ranges(whole_.rows, threads_, 1, [&](int64_t begin, int64_t end) {
      kernels::GroupNorm norm = whole_;
      norm.rows = end - begin;
      norm.gamma = gamma;
      norm.beta = beta;
      loop(norm, begin);
    });
  }

  Groups groups_;
  kernels::GroupNorm whole_;
  int64_t row_size_;
  int threads_;
};

// (x, gamma, beta) -> (y, mean, rstd).
class GroupNormKernel final : public GroupKernel {
 public:
  using GroupKernel::GroupKernel;

  std::vector<int> overwrites(int output) const override {
    return output == 0 ? std::vector<int>{0} : std::vector<int>{};
  }

  void run(const Run& run) const noexcept override {
    const float* gamma = groups_.has_gamma ? run.input(1) : nullptr;
    const float* beta = groups_.has_beta ? run.input(groups_.has_gamma ? 2 : 1) : nullptr;
    in_stretches(gamma, beta, [&](const kernels::GroupNorm& norm, int64_t row) {
      kernels::group_norm(norm, run.input(0) + row * row_size_, run.output(0) + row * row_size_,
                          run.output(1) + row * norm.groups, run.output(2) + row * norm.groups);
    });
  }
};

// (x, dy, mean, rstd, gamma) -> dx.
class GroupNormGradientKernel final : public GroupKernel {
 public:
  using GroupKernel::GroupKernel;

  std::vector<int> overwrites(int) const override { return {1, 0}; }

  void run(const Run& run) const noexcept override {
    const float* gamma = groups_.has_gamma ? run.input(4) : nullptr;
    in_stretches(gamma, nullptr, [&](const kernels::GroupNorm& norm, int64_t row) {
      const int64_t at = row * row_size_;
      kernels::group_norm_gradient(norm, run.input(0) + at, run.input(1) + at,
                                   run.input(2) + row * norm.groups,
                                   run.input(3) + row * norm.groups, run.output() + at);
    });
  }
};

class GroupNormGradient final : public Op {
 public:
  explicit GroupNormGradient(const Groups& groups) : groups_(groups) {}

  std::string_view name() const override { return "group_norm_gradient"; }
  Types infer(const Types& in) const override { return {in[0]}; }
  Values gradient(const Node&, const Values&) const override { refuse_second_gradient(name()); }
  Rows rows(const Types&) const override { return Rows::each; }
  Cost cost(const Types& in) const override { return elementwise_cost(in, in[0].shape, 10); }
  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    return std::make_unique<GroupNormGradientKernel>(groups_, in[0].shape, target);
  }

 private:
  Groups groups_;
};

// (x, dy, mean, rstd) -> dgamma, dbeta of those that there are.
class GroupNormParameterGradient final : public Op {
 public:
  explicit GroupNormParameterGradient(const Groups& groups) : groups_(groups) {}

  std::string_view name() const override { return "group_norm_parameter_gradient"; }
  Types infer(const Types& in) const override {
    return Types(groups_.has_gamma + groups_.has_beta, {DType::float32, {in[0].shape.extent(-1)}});
  }
  Values gradient(const Node&, const Values&) const override { refuse_second_gradient(name()); }
  Rows rows(const Types&) const override { return Rows::sum; }
  Cost cost(const Types& in) const override {
    const auto size = static_cast<double>(in[0].shape.size());
    return {.flops = 5 * size, .bytes = 2 * size * sizeof(float)};
  }

  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    const kernels::GroupNorm whole = groups_.norm(in[0].shape, nullptr, nullptr);
    const auto loop = [whole](const Run& run, int64_t begin, int64_t end, float* dgamma,
                              float* dbeta, kernels::Output output) {
      kernels::GroupNorm norm = whole;
      norm.rows = end - begin;
      const int64_t at = begin * norm.spatial * norm.channels, group = begin * norm.groups;
      kernels::group_norm_parameter_gradients(norm, run.input(0) + at, run.input(1) + at,
                                              run.input(2) + group, run.input(3) + group, dgamma,
                                              dbeta, output);
    };
    return parameter_sums_kernel({whole.rows, whole.channels, groups_.has_gamma, groups_.has_beta},
                                 elementwise_threads(in[0].shape.size(), target), loop);
  }

 private:
  Groups groups_;
};

class GroupNormOp final : public Op {
 public:
  explicit GroupNormOp(const Groups& groups) : groups_(groups) {}

  std::string_view name() const override { return "group_norm"; }
  std::string attributes() const override {
    return fmt::format("groups={} epsilon={}", groups_.count, groups_.epsilon);
  }

  Types infer(const Types& in) const override {
    const Type statistic{DType::float32, {in[0].shape.extent(0), groups_.count}};
    return {in[0], statistic, statistic};
  }

  Values gradient(const Node& node, const Values& dy) const override {
    Values in = {node.input(0), dy[0], node.output(1), node.output(2)};
    Values gradients(1);
    if (groups_.has_gamma || groups_.has_beta) {
      const Values parameters = node.graph().add_all<GroupNormParameterGradient>(in, groups_);
      gradients.insert(gradients.end(), parameters.begin(), parameters.end());
    }
    if (groups_.has_gamma) in.push_back(node.input(1));
    gradients[0] = node.graph().add<GroupNormGradient>(in, groups_);
    return gradients;
  }

  Rows rows(const Types&) const override { return Rows::each; }
  Cost cost(const Types& in) const override { return elementwise_cost(in, in[0].shape, 7); }
  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    return std::make_unique<GroupNormKernel>(groups_, in[0].shape, target);
  }

 private:
  Groups groups_;
};

void check(Value x, const GroupNormOptions& options) {
  if (!x) throw Error("group_norm: the value is empty");
  if (x.dtype() != DType::float32 || x.shape().rank() < 2 || x.shape().extent(-1).times_rows)
    throw ShapeError("group_norm: expected float32[rows, ..., channels], got {}", x.type().text());
  const int64_t channels = x.shape()[-1];
  if (options.groups < 1 || channels % options.groups != 0) {
    throw ShapeError(
        "group_norm: the {} channels of {} cannot be cut into {} equal groups; give a divisor of "
        "{}",
        channels, x.type().text(), options.groups, channels);
  }
  const Type wanted{DType::float32, {channels}};
  const std::pair<std::string_view, Value> given[] = {{"gamma", options.gamma},
                                                      {"beta", options.beta}};
  for (const auto& [name, value] : given) {
    if (value && value.type() != wanted) {
      throw ShapeError("group_norm: {} is {}, but a value {} wants {}", name, value.type().text(),
                       x.type().text(), wanted.text());
    }
  }
}

}  // namespace

Value group_norm(Value x, const GroupNormOptions& options) {
  check(x, options);
  Values in = {x};
  if (options.gamma) in.push_back(options.gamma);
  if (options.beta) in.push_back(options.beta);
  return x.graph().add<GroupNormOp>(
      in, Groups{options.groups, options.epsilon, static_cast<bool>(options.gamma),
                 static_cast<bool>(options.beta)});
}

}  // namespace snug::ops
