// Moving averages of weights, kept beside them or put in their place now and then.

#include <algorithm>
#include <cstring>

#include "snug/base/error.h"
#include "snug/base/threads.h"
#include "snug/ops/elementwise.h"
#include "snug/ops/update.h"

namespace snug::ops {
namespace {

// Inputs: iterations, then each weight with its average.
class AveragesKernel final : public Kernel {
 public:
  AveragesKernel(float momentum, int64_t frequency, const Types& in, const Target& target)
      : momentum_(momentum), frequency_(frequency) {
    for (size_t i = 1; i < in.size(); i += 2) sizes_.push_back(in[i].shape.size());
    threads_ = elementwise_threads(*std::ranges::max_element(sizes_), target);
  }

  void run(const Run& run) const noexcept override {
    const int64_t iterations = *run.input<int64_t>(0);
    const float momentum = iterations == 0 ? 0 : momentum_;
    const bool overwrites = frequency_ > 0 && (iterations + 1) % frequency_ == 0;
    for (size_t i = 0; i < sizes_.size(); ++i) {
      const int input = 1 + 2 * static_cast<int>(i);
      auto* weight = const_cast<float*>(run.input(input));
      auto* average = const_cast<float*>(run.input(input + 1));
      const int threads = sizes_[i] < kWorthThreadsElements ? 1 : threads_;
      parallel_ranges(sizes_[i], threads, 64, [&](int64_t begin, int64_t end) {
        kernels::update_ema(momentum, weight + begin, average + begin, end - begin);
        const auto bytes = static_cast<size_t>(end - begin) * sizeof(float);
        if (overwrites) std::memcpy(weight + begin, average + begin, bytes);
      });
    }
  }

 private:
  float momentum_;
  int64_t frequency_;
  std::vector<int64_t> sizes_;
  int threads_ = 1;
};

class UpdateAverages final : public Op {
 public:
  UpdateAverages(float momentum, int64_t frequency, int weights)
      : momentum_(momentum), frequency_(frequency), weights_(weights) {}

  std::string_view name() const override { return "update_averages"; }
  std::string attributes() const override {
    return fmt::format("momentum={} overwrite_frequency={}", momentum_, frequency_);
  }

  Types infer(const Types& in) const override {
    if (in[0] != Type{DType::int64, {}}) {
      throw ShapeError("update_averages: the count of iterations is {}; it must be int64[]",
                       in[0].text());
    }
    for (size_t i = 1; i < in.size(); i += 2) {
      if (in[i] == in[i + 1] && in[i].dtype == DType::float32) continue;
      throw ShapeError(
          "update_averages: weight {} is {}, its average {}; both must be float32 of "
          "one shape",
          i / 2, in[i].text(), in[i + 1].text());
    }
    return {};
  }

  Values gradient(const Node& node, const Values&) const override {
    return Values(node.in().size());
  }

  Traits traits() const override {
    Traits traits;
    for (int i = 0; i < weights_; ++i) {
      if (frequency_ > 0) traits.writes.push_back(1 + 2 * i);
      traits.writes.push_back(2 + 2 * i);
    }
    return traits;
  }

  Cost cost(const Types& in) const override {
    double elements = 0;
    for (size_t i = 1; i < in.size(); i += 2) elements += static_cast<double>(in[i].shape.size());
    return {.flops = 3 * elements, .bytes = 3 * elements * sizeof(float)};
  }

  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    return std::make_unique<AveragesKernel>(momentum_, frequency_, in, target);
  }

 private:
  float momentum_;
  int64_t frequency_;
  int weights_;
};

}  // namespace

void update_averages(const Values& weights, const Values& averages, const AverageOptions& options) {
  if (weights.empty() || weights.size() != averages.size()) {
    throw Error("update_averages: {} weights and {} averages; give one for each weight",
                weights.size(), averages.size());
  }
  Values in = {options.iterations};
  for (size_t i = 0; i < weights.size(); ++i) {
    in.push_back(weights[i]);
    in.push_back(averages[i]);
  }
  weights[0].graph().add_all<UpdateAverages>(in, static_cast<float>(options.momentum),
                                             options.overwrite_frequency,
                                             static_cast<int>(weights.size()));
}

}  // namespace snug::ops
