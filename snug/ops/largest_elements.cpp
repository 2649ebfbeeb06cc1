// The largest magnitude of each of several small values in one node: what the guard asks of all
// that a step is about to commit.

#include <algorithm>
#include <cmath>
#include <limits>

#include "snug/base/error.h"
#include "snug/kernels/reduce.h"
#include "snug/ops/update.h"

namespace snug::ops {
namespace {

// A double that float32 cannot hold is finite all the same.
float largest_of(const double* x, int64_t n) {
  double largest = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (!std::isfinite(x[i])) return static_cast<float>(std::abs(x[i]));
    largest = std::max(largest, std::abs(x[i]));
  }
  constexpr double kMost = std::numeric_limits<float>::max();
  return static_cast<float>(std::min(largest, kMost));
}

class LargestElementsKernel final : public Kernel {
 public:
  explicit LargestElementsKernel(const Types& in) : in_(in) {}

  void run(const Run& run) const noexcept override {
    for (size_t i = 0; i < in_.size(); ++i) {
      const int input = static_cast<int>(i);
      const int64_t size = in_[i].shape.size();
      run.output()[i] = in_[i].dtype == DType::float64
                            ? largest_of(run.input<double>(input), size)
                            : kernels::magnitude(run.input(input), size).largest;
    }
  }

 private:
  Types in_;
};

class LargestElements final : public Op {
 public:
  std::string_view name() const override { return "largest_elements"; }

  Types infer(const Types& in) const override {
    for (const Type& type : in) {
      if (type.dtype == DType::float32 || type.dtype == DType::float64) continue;
      throw ShapeError("largest_elements: a value is {}; it must be float32 or float64",
                       type.text());
    }
    return {{DType::float32, Shape{static_cast<int64_t>(in.size())}}};
  }

  Values gradient(const Node&, const Values&) const override { refuse_second_gradient(name()); }

  Cost cost(const Types& in) const override {
    Cost cost;
    for (const Type& type : in) {
      cost.flops += static_cast<double>(type.shape.size());
      cost.bytes += static_cast<double>(type.bytes());
    }
    return cost;
  }

  std::unique_ptr<Kernel> kernel(const Types& in, const Target&) const override {
    return std::make_unique<LargestElementsKernel>(in);
  }
};

}  // namespace

Value largest_elements(const Values& values) {
  if (values.empty()) throw Error("largest_elements: there is no value; give at least one");
  return values[0].graph().add<LargestElements>(values);
}

}  // namespace snug::ops
