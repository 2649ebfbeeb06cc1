// y = condition ? a : b, element by element, all three broadcast.

#include "snug/base/error.h"
#include "snug/base/threads.h"
#include "snug/kernels/compare.h"
#include "snug/ops/broadcast_walk.h"
#include "snug/ops/elementwise.h"
#include "snug/ops/ops.h"
#include "snug/ops/sum_to.h"

namespace snug::ops {
namespace {

template <typename T>
class WhereKernel final : public Kernel {
 public:
  WhereKernel(const Types& in, const Shape& y, const Target& target)
      : walk_({in[0].shape, in[1].shape, in[2].shape}, y),
        threads_(elementwise_threads(y.size(), target)) {
    for (const int value : {1, 2}) {
      if (in[value].shape.size() == y.size()) overwrites_.push_back(value);
    }
  }

  std::vector<int> overwrites(int) const override { return overwrites_; }

  void run(const Run& run) const noexcept override {
    if (walk_.stretches() == 1) {
      return parallel_ranges(walk_.stretch_size(), threads_, 64,
                             [&](int64_t begin, int64_t end) { run_stretch(run, 0, begin, end); });
    }
    parallel_ranges(walk_.stretches(), threads_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) run_stretch(run, i, 0, walk_.stretch_size());
    });
  }

 private:
  void run_stretch(const Run& run, int64_t index, int64_t begin, int64_t end) const noexcept {
    const auto offsets = walk_.offsets(index);
    const int64_t c_step = walk_.moves(0), a_step = walk_.moves(1), b_step = walk_.moves(2);
    const uint8_t* c = run.input<uint8_t>(0) + offsets[0] + begin * c_step;
    const T* a = run.input<T>(1) + offsets[1] + begin * a_step;
    const T* b = run.input<T>(2) + offsets[2] + begin * b_step;
    T* y = run.output<T>() + index * walk_.stretch_size() + begin;
    const int64_t count = end - begin;
    if (c_step && a_step && b_step) {
      if constexpr (std::is_same_v<T, float>) return kernels::select(c, a, b, y, count);
      return choose<1, 1, 1>(c, a, b, y, count);
    }
    if (c_step && a_step) return choose<1, 1, 0>(c, a, b, y, count);
    if (c_step && b_step) return choose<1, 0, 1>(c, a, b, y, count);
    for (int64_t i = 0; i < count; ++i) y[i] = c[i * c_step] ? a[i * a_step] : b[i * b_step];
  }

  // With the steps known the loop becomes vector instructions.
  template <int kC, int kA, int kB>
  static void choose(const uint8_t* c, const T* a, const T* b, T* y, int64_t count) noexcept {
    for (int64_t i = 0; i < count; ++i) {
      const T first = a[i * kA], second = b[i * kB];
      y[i] = c[i * kC] ? first : second;
    }
  }

  BroadcastWalk<3> walk_;
  int threads_;
  std::vector<int> overwrites_;
};

class Where final : public Op {
 public:
  std::string_view name() const override { return "where"; }

  Types infer(const Types& in) const override {
    if (in[0].dtype != DType::boolean) {
      throw ShapeError("where: the condition is {}; it must be bool, as a comparison gives",
                       in[0].text());
    }
    if (in[1].dtype != in[2].dtype || in[1].dtype == DType::float64) {
      throw ShapeError(
          "where: the values are {} and {}; they must be of one type, and that not float64; cast "
          "them first",
          in[1].text(), in[2].text());
    }
    return {{in[1].dtype, result(in)}};
  }

  Values gradient(const Node& node, const Values& dy) const override {
    if (!is_float(node.output().dtype())) return {Value(), Value(), Value()};
    const Value condition = node.input(0), zero = constant(node.graph(), {}, 0);
    return {Value(), sum_to(where(condition, dy[0], zero), node.input(1).shape()),
            sum_to(where(condition, zero, dy[0]), node.input(2).shape())};
  }

  Rows rows(const Types&) const override { return Rows::each; }

  Cost cost(const Types& in) const override {
    const Type y{in[1].dtype, result(in)};
    Cost cost{.flops = static_cast<double>(y.shape.size()),
              .bytes = static_cast<double>(y.bytes())};
    for (const Type& type : in) cost.bytes += static_cast<double>(type.bytes());
    return cost;
  }

  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    if (in[1].dtype == DType::float32)
      return std::make_unique<WhereKernel<float>>(in, result(in), target);
    switch (size_of(in[1].dtype)) {
      case 1:
        return std::make_unique<WhereKernel<uint8_t>>(in, result(in), target);
      case 4:
        return std::make_unique<WhereKernel<int32_t>>(in, result(in), target);
      default:
        return std::make_unique<WhereKernel<int64_t>>(in, result(in), target);
    }
  }

 private:
  static Shape result(const Types& in) {
    return broadcast(in[0].shape, broadcast(in[1].shape, in[2].shape, "where"), "where");
  }
};

}  // namespace

Value where(Value condition, Value a, Value b) {
  return condition.graph().add<Where>({condition, a, b});
}

}  // namespace snug::ops
