// The gradients of gamma and beta, of any normalisation: sums over rows in one or two outputs.
#pragma once

#include <memory>

#include "snug/graph/kernel.h"
#include "snug/ops/partial_sums.h"

namespace snug::ops {

struct ParameterSums {
  int64_t rows = 0;
  int64_t count = 0;  // Elements of gamma and of beta.
  bool gamma = false, beta = false;
};

// Loop is callable as loop(run, begin, end, dgamma, dbeta, output) for a stretch of rows; dgamma or
// dbeta is null where it is not wanted.
template <typename Loop>
class ParameterSumsKernel final : public Kernel {
 public:
  ParameterSumsKernel(const ParameterSums& sums, int threads, const Loop& loop)
      : sums_(sums), threads_(threads), loop_(loop) {}

  size_t scratch_bytes() const override {
    return threads_ == 1 ? 0 : static_cast<size_t>(threads_ * size()) * sizeof(float);
  }
  bool accumulates() const override { return true; }

  void run(const Run& run) const noexcept override {
    using kernels::Output;
    if (threads_ == 1) {
      const Output output = run.accumulate ? Output::add : Output::write;
      float* dbeta = sums_.beta ? run.output(sums_.gamma ? 1 : 0) : nullptr;
      return loop_(run, 0, sums_.rows, sums_.gamma ? run.output(0) : nullptr, dbeta, output);
    }
    float* found = static_cast<float*>(run.scratch);
    sum_in_stretches(sums_.rows, threads_, found, size(), found + size(), Output::write,
                     [&](int, int64_t begin, int64_t end, float* to, Output output) {
                       float* dbeta = sums_.beta ? to + size() - sums_.count : nullptr;
                       loop_(run, begin, end, sums_.gamma ? to : nullptr, dbeta, output);
                     });
    for (int i = 0; i < sums_.gamma + sums_.beta; ++i, found += sums_.count) {
      for (int64_t j = 0; j < sums_.count; ++j)
        run.output(i)[j] = found[j] + (run.accumulate ? run.output(i)[j] : 0);
    }
  }

 private:
  int64_t size() const { return (sums_.gamma + sums_.beta) * sums_.count; }

  ParameterSums sums_;
  int threads_;
  Loop loop_;
};

template <typename Loop>
std::unique_ptr<Kernel> parameter_sums_kernel(const ParameterSums& sums, int threads,
                                              const Loop& loop) {
  return std::make_unique<ParameterSumsKernel<Loop>>(sums, threads, loop);
}

}  // namespace snug::ops
