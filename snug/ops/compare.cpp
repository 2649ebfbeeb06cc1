// Comparisons of float32 or int32 values and logic on bools, broadcast as NumPy does. No gradient
// flows through them.

#include "snug/kernels/compare.h"

#include <functional>

#include "snug/base/error.h"
#include "snug/base/threads.h"
#include "snug/ops/broadcast_walk.h"
#include "snug/ops/elementwise.h"
#include "snug/ops/ops.h"

namespace snug::ops {
namespace {

using kernels::Comparison;

// One function of two operands of type T, with bytes as the result, where both move on and where
// one of them stands still.
template <typename T>
struct Loops {
  using Loop = void (*)(const T* a, const T* b, uint8_t* y, int64_t n);
  Loop same, scalar_left, scalar_right;
};

template <typename T, typename Function>
Loops<T> loops_of(Function) {
  return {
      .same =
          [](const T* a, const T* b, uint8_t* y, int64_t n) {
            for (int64_t i = 0; i < n; ++i) y[i] = Function()(a[i], b[i]);
          },
      .scalar_left =
          [](const T* a, const T* b, uint8_t* y, int64_t n) {
            for (int64_t i = 0; i < n; ++i) y[i] = Function()(a[0], b[i]);
          },
      .scalar_right =
          [](const T* a, const T* b, uint8_t* y, int64_t n) {
            for (int64_t i = 0; i < n; ++i) y[i] = Function()(a[i], b[0]);
          },
  };
}

struct And {
  uint8_t operator()(uint8_t a, uint8_t b) const { return (a != 0) & (b != 0); }
};
struct Or {
  uint8_t operator()(uint8_t a, uint8_t b) const { return (a != 0) | (b != 0); }
};

Loops<int32_t> int32_loops(Comparison comparison) {
  switch (comparison) {
    case Comparison::equal:
      return loops_of<int32_t>(std::equal_to<>());
    case Comparison::not_equal:
      return loops_of<int32_t>(std::not_equal_to<>());
    case Comparison::less:
      return loops_of<int32_t>(std::less<>());
    case Comparison::less_equal:
      return loops_of<int32_t>(std::less_equal<>());
    case Comparison::greater:
      return loops_of<int32_t>(std::greater<>());
    case Comparison::greater_equal:
      return loops_of<int32_t>(std::greater_equal<>());
  }
  return {};
}

Loops<float> float_loops(Comparison comparison) {
  const kernels::ComparisonKernels& table = kernels::comparison_kernels(comparison);
  return {table.same, table.scalar_left, table.scalar_right};
}

template <typename T>
class TruthKernel final : public Kernel {
 public:
  TruthKernel(const Loops<T>& loops, const Types& in, const Shape& y, const Target& target)
      : loops_(loops),
        walk_({in[0].shape, in[1].shape}, y),
        threads_(elementwise_threads(y.size(), target)) {
    for (const int operand : {0, 1}) {
      if (sizeof(T) == 1 && in[operand].shape.size() == y.size()) overwrites_.push_back(operand);
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
    const bool a_moves = walk_.moves(0), b_moves = walk_.moves(1);
    const T* a = run.input<T>(0) + offsets[0] + (a_moves ? begin : 0);
    const T* b = run.input<T>(1) + offsets[1] + (b_moves ? begin : 0);
    uint8_t* y = run.output<uint8_t>() + index * walk_.stretch_size() + begin;
    const auto loop = !a_moves ? loops_.scalar_left : !b_moves ? loops_.scalar_right : loops_.same;
    loop(a, b, y, end - begin);
  }

  Loops<T> loops_;
  BroadcastWalk<2> walk_;
  int threads_;
  std::vector<int> overwrites_;
};

// What comparisons and logic share.
class TruthOp : public Op {
 public:
  explicit TruthOp(std::string_view name) : name_(name) {}

  std::string_view name() const override { return name_; }
  Values gradient(const Node& node, const Values&) const override {
    return Values(node.in().size());
  }
  Rows rows(const Types&) const override { return Rows::each; }

  Cost cost(const Types& in) const override {
    const auto size = static_cast<double>(result(in).size());
    Cost cost{.flops = size, .bytes = size};
    for (const Type& type : in) cost.bytes += static_cast<double>(type.bytes());
    return cost;
  }

 protected:
  Shape result(const Types& in) const { return broadcast(in[0].shape, in.back().shape, name_); }
  std::string_view name_;
};

class Compare final : public TruthOp {
 public:
  Compare(std::string_view name, Comparison comparison) : TruthOp(name), comparison_(comparison) {}

  Types infer(const Types& in) const override {
    const DType dtype = in[0].dtype;
    if (dtype != in[1].dtype || (dtype != DType::float32 && dtype != DType::int32)) {
      throw ShapeError(
          "{}: expected two float32 or two int32 values, got {} and {}; cast them first", name_,
          in[0].text(), in[1].text());
    }
    return {{DType::boolean, result(in)}};
  }

  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    const Shape y = result(in);
    if (in[0].dtype == DType::float32)
      return std::make_unique<TruthKernel<float>>(float_loops(comparison_), in, y, target);
    return std::make_unique<TruthKernel<int32_t>>(int32_loops(comparison_), in, y, target);
  }

 private:
  Comparison comparison_;
};

class Logic final : public TruthOp {
 public:
  Logic(std::string_view name, const Loops<uint8_t>& loops) : TruthOp(name), loops_(loops) {}

  Types infer(const Types& in) const override {
    if (in[0].dtype != DType::boolean || in[1].dtype != DType::boolean) {
      throw ShapeError("{}: expected bool values, got {} and {}; compare or cast them first", name_,
                       in[0].text(), in[1].text());
    }
    return {{DType::boolean, result(in)}};
  }

  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    return std::make_unique<TruthKernel<uint8_t>>(loops_, in, result(in), target);
  }

 private:
  Loops<uint8_t> loops_;
};

class NotKernel final : public Kernel {
 public:
  explicit NotKernel(int64_t size) : size_(size) {}
  std::vector<int> overwrites(int) const override { return {0}; }
  void run(const Run& run) const noexcept override {
    kernels::logical_not(run.input<uint8_t>(0), run.output<uint8_t>(), size_);
  }

 private:
  int64_t size_;
};

class LogicalNot final : public TruthOp {
 public:
  LogicalNot() : TruthOp("logical_not") {}

  Types infer(const Types& in) const override {
    if (in[0].dtype != DType::boolean) {
      throw ShapeError("logical_not: expected a bool value, got {}; compare or cast it first",
                       in[0].text());
    }
    return in;
  }

  std::unique_ptr<Kernel> kernel(const Types& in, const Target&) const override {
    return std::make_unique<NotKernel>(in[0].shape.size());
  }
};

Value compare(Value a, Value b, std::string_view name, Comparison comparison) {
  return a.graph().add<Compare>({a, b}, name, comparison);
}

}  // namespace

Value equal(Value a, Value b) { return compare(a, b, "equal", Comparison::equal); }
Value not_equal(Value a, Value b) { return compare(a, b, "not_equal", Comparison::not_equal); }
Value less(Value a, Value b) { return compare(a, b, "less", Comparison::less); }
Value less_equal(Value a, Value b) { return compare(a, b, "less_equal", Comparison::less_equal); }
Value greater(Value a, Value b) { return compare(a, b, "greater", Comparison::greater); }
Value greater_equal(Value a, Value b) {
  return compare(a, b, "greater_equal", Comparison::greater_equal);
}
Value logical_and(Value a, Value b) {
  return a.graph().add<Logic>({a, b}, "logical_and", loops_of<uint8_t>(And()));
}
Value logical_or(Value a, Value b) {
  return a.graph().add<Logic>({a, b}, "logical_or", loops_of<uint8_t>(Or()));
}
Value logical_not(Value a) { return a.graph().add<LogicalNot>({a}); }

}  // namespace snug::ops
