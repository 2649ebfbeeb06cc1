// A kernel whose one output is float64 sums over its inputs, on threads.
#pragma once

#include <algorithm>
#include <memory>

#include "snug/base/error.h"
#include "snug/graph/graph.h"
#include "snug/ops/elementwise.h"
#include "snug/ops/partial_sums.h"

namespace snug::ops {

// Body is callable as body(run, begin, end, sums): adds what cells [begin, end) give.
template <typename Body>
class DoubleSumsKernel final : public Kernel {
 public:
  DoubleSumsKernel(int64_t cells, int64_t count, int threads, const Body& body)
      : cells_(cells), count_(count), threads_(threads), body_(body) {}

  size_t scratch_bytes() const override {
    return static_cast<size_t>((threads_ - 1) * count_) * sizeof(double);
  }
  bool accumulates() const override { return true; }

  void run(const Run& run) const noexcept override {
    using kernels::Output;
    sum_in_stretches(cells_, threads_, run.output<double>(), count_,
                     static_cast<double*>(run.scratch),
                     run.accumulate ? Output::add : Output::write,
                     [&](int, int64_t begin, int64_t end, double* sums, Output output) {
                       if (output == Output::write) std::fill_n(sums, count_, 0.0);
                       body_(run, begin, end, sums);
                     });
  }

 private:
  int64_t cells_, count_;
  int threads_;
  Body body_;
};

// `elements`: all that is read, which decides about threads.
template <typename Body>
std::unique_ptr<Kernel> double_sums_kernel(int64_t cells, int64_t count, int64_t elements,
                                           const Target& target, const Body& body) {
  return std::make_unique<DoubleSumsKernel<Body>>(cells, count,
                                                  elementwise_threads(elements, target), body);
}

// How many elements of `weighed` one weight stands for: 1 without weights.
inline int64_t elements_per_weight(const Shape& weighed, const Types& in, size_t weights) {
  if (in.size() <= weights) return 1;
  const int64_t size = weighed.part(in[weights].shape.rank(), weighed.rank()).size();
  return std::max<int64_t>(size, 1);
}

// Throws ShapeError unless the weights are float32 of a leading part of the shape that they weigh.
inline void check_weights(std::string_view op, const Shape& weighed, const Types& in,
                          size_t weights) {
  if (in.size() <= weights) return;
  const Type& type = in[weights];
  const int rank = type.shape.rank();
  const bool fits = rank <= weighed.rank() && type.shape == weighed.part(0, rank) &&
                    (rank > 0 || !weighed.is_symbolic());
  if (type.dtype == DType::float32 && fits) return;
  throw ShapeError("{}: weights {} do not go with {}; give float32 of that shape or its first axes",
                   op, type.text(), weighed.text());
}

// The inputs of a node, with the weights where there are any.
inline Values with_weights(Values in, Value weights) {
  if (weights) in.push_back(weights);
  return in;
}

// An op that measures: float64 sums of float32 or int32 inputs, without a gradient.
class DoubleSumsOp : public Op {
 public:
  Values gradient(const Node& node, const Values&) const override {
    return Values(node.in().size());
  }
  Rows rows(const Types&) const override { return Rows::sum; }
  Cost cost(const Types& in) const override {
    Cost cost;
    for (const Type& type : in) {
      cost.flops += 2 * static_cast<double>(type.shape.size());
      cost.bytes += static_cast<double>(type.bytes());
    }
    return cost;
  }
};

}  // namespace snug::ops
