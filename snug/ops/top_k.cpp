// The k largest elements along the last axis, and whether a label is among them.

#include "snug/kernels/top_k.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "snug/base/error.h"
#include "snug/base/threads.h"
#include "snug/ops/elementwise.h"
#include "snug/ops/ops.h"

namespace snug::ops {
namespace {

// Rows of the last axis, on threads.
class LastAxisKernel : public Kernel {
 public:
  LastAxisKernel(const Shape& x, const Target& target)
      : columns_(x[-1]),
        rows_(x.without(-1).size()),
        threads_(static_cast<int>(
            std::clamp<int64_t>(rows_, 1, elementwise_threads(x.size(), target)))) {}

  void run(const Run& run) const noexcept override {
    parallel_parts(threads_, [&](int part) {
      const int64_t end = rows_ * (part + 1) / threads_;
      for (int64_t row = rows_ * part / threads_; row < end; ++row) run_row(run, row, part);
    });
  }

 protected:
  virtual void run_row(const Run& run, int64_t row, int part) const noexcept = 0;

  int64_t columns_, rows_;
  int threads_;
};

// Largest first; of equals the one that stands first; NaN before all numbers.
class TopKKernel final : public LastAxisKernel {
 public:
  TopKKernel(const Shape& x, int k, const Target& target) : LastAxisKernel(x, target), k_(k) {}

  size_t scratch_bytes() const override {
    return few() ? 0 : static_cast<size_t>(threads_ * columns_) * sizeof(int32_t);
  }

 private:
  bool few() const { return k_ <= kernels::kMostTopK; }

  void run_row(const Run& run, int64_t row, int part) const noexcept override {
    const float* x = run.input(0) + row * columns_;
    if (few()) {
      return kernels::top_k(x, run.output(0) + row * k_, run.output<int32_t>(1) + row * k_, 1,
                            columns_, k_);
    }
    int32_t* order = static_cast<int32_t*>(run.scratch) + part * columns_;
    std::iota(order, order + columns_, 0);
    std::partial_sort(order, order + k_, order + columns_, [x](int32_t a, int32_t b) {
      const bool a_is_nan = std::isnan(x[a]), b_is_nan = std::isnan(x[b]);
      if (a_is_nan != b_is_nan) return a_is_nan;
      return a_is_nan || x[a] == x[b] ? a < b : x[a] > x[b];
    });
    for (int i = 0; i < k_; ++i) run.output(0)[row * k_ + i] = x[order[i]];
    std::copy_n(order, k_, run.output<int32_t>(1) + row * k_);
  }

  int k_;
};

// dx [..., columns] is dy [..., k] at the indices and 0 elsewhere.
class TopKGradientKernel final : public LastAxisKernel {
 public:
  TopKGradientKernel(const Shape& dx, int64_t k, const Target& target)
      : LastAxisKernel(dx, target), k_(k) {}

 private:
  void run_row(const Run& run, int64_t row, int) const noexcept override {
    const int32_t* indices = run.input<int32_t>(0) + row * k_;
    const float* dy = run.input(1) + row * k_;
    float* dx = run.output() + row * columns_;
    std::fill_n(dx, columns_, 0.0f);
    for (int64_t i = 0; i < k_; ++i) dx[indices[i]] = dy[i];
  }

  int64_t k_;
};

// From (indices, dy).
class TopKGradient final : public Op {
 public:
  explicit TopKGradient(int64_t columns) : columns_(columns) {}

  std::string_view name() const override { return "top_k_gradient"; }
  Types infer(const Types& in) const override {
    Shape shape = in[0].shape;
    shape.set(-1, columns_);
    return {{DType::float32, shape}};
  }
  Values gradient(const Node&, const Values&) const override { refuse_second_gradient(name()); }
  Rows rows(const Types&) const override { return Rows::each; }
  Cost cost(const Types& in) const override {
    return {.bytes = static_cast<double>(in[0].bytes() + in[1].bytes() + infer(in)[0].bytes())};
  }
  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    return std::make_unique<TopKGradientKernel>(infer(in)[0].shape, in[0].shape[-1], target);
  }

 private:
  int64_t columns_;
};

class TopKOp final : public Op {
 public:
  explicit TopKOp(int k) : k_(k) {}

  std::string_view name() const override { return "top_k"; }
  std::string attributes() const override { return fmt::format("k={}", k_); }

  Types infer(const Types& in) const override {
    Shape shape = in[0].shape;
    if (in[0].dtype != DType::float32 || shape.rank() == 0 || shape.extent(-1).times_rows) {
      throw ShapeError("top_k: expected float32[..., scores], got {}; it runs along the last axis",
                       in[0].text());
    }
    if (k_ < 1 || k_ > shape[-1]) {
      throw ShapeError("top_k: k is {}, but the last axis of {} has {} elements; give 1 to {}", k_,
                       shape.text(), shape[-1], shape[-1]);
    }
    shape.set(-1, k_);
    return {{DType::float32, shape}, {DType::int32, shape}};
  }

  Values gradient(const Node& node, const Values& dy) const override {
    if (!dy[0]) return {Value()};
    const int64_t columns = node.input(0).shape()[-1];
    return {node.graph().add<TopKGradient>({node.output(1), dy[0]}, columns)};
  }

  Rows rows(const Types&) const override { return Rows::each; }

  Cost cost(const Types& in) const override {
    const auto size = static_cast<double>(in[0].shape.size());
    const auto found = static_cast<double>(in[0].shape.without(-1).size()) * k_;
    return {.flops = size * (2 + std::log2(k_ + 1.0)), .bytes = (size + 2 * found) * sizeof(float)};
  }

  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    return std::make_unique<TopKKernel>(in[0].shape, k_, target);
  }

 private:
  int k_;
};

// A label is a hit when fewer than k scores are larger than its own, so ties count. A row with a
// score that is not finite, and a label outside, never is.
class ContainsKernel final : public LastAxisKernel {
 public:
  ContainsKernel(const Shape& scores, int k, const Target& target)
      : LastAxisKernel(scores, target), k_(k) {}

 private:
  void run_row(const Run& run, int64_t row, int) const noexcept override {
    const float* x = run.input(0) + row * columns_;
    const int32_t label = run.input<int32_t>(1)[row];
    bool& hit = run.output<bool>()[row];
    hit = false;
    if (label < 0 || label >= columns_) return;
    int larger = 0;
    bool finite = true;
    for (int64_t j = 0; j < columns_; ++j) {
      larger += x[j] > x[label];
      finite &= std::isfinite(x[j]);
    }
    hit = finite && larger < k_;
  }

  int k_;
};

class TopKContains final : public Op {
 public:
  explicit TopKContains(int k) : k_(k) {}

  std::string_view name() const override { return "top_k_contains"; }
  std::string attributes() const override { return fmt::format("k={}", k_); }

  Types infer(const Types& in) const override {
    const Shape& x = in[0].shape;
    const bool scores = in[0].dtype == DType::float32 && x.rank() > 0 && !x.extent(-1).times_rows;
    if (!scores || in[1] != Type{DType::int32, x.without(-1)}) {
      throw ShapeError(
          "top_k_contains: expected scores float32[..., classes] and labels int32[...], got {} "
          "and {}",
          in[0].text(), in[1].text());
    }
    if (k_ < 1) throw ShapeError("top_k_contains: k is {}; it must be at least 1", k_);
    return {{DType::boolean, in[1].shape}};
  }

  Values gradient(const Node&, const Values&) const override { return {Value(), Value()}; }
  Rows rows(const Types&) const override { return Rows::each; }
  Cost cost(const Types& in) const override {
    return {.flops = 2.0 * static_cast<double>(in[0].shape.size()),
            .bytes = static_cast<double>(in[0].bytes() + in[1].bytes())};
  }
  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    return std::make_unique<ContainsKernel>(in[0].shape, k_, target);
  }

 private:
  int k_;
};

}  // namespace

TopK top_k(Value x, int k) {
  if (!x) throw Error("top_k: the value is empty");
  const Values out = x.graph().add_all<TopKOp>({x}, k);
  return {.values = out[0], .indices = out[1]};
}

Value top_k_contains(Value scores, Value labels, int k) {
  if (!scores || !labels)
    throw Error("top_k_contains: the {} are empty", scores ? "labels" : "scores");
  return scores.graph().add<TopKContains>({scores, labels}, k);
}

}  // namespace snug::ops
