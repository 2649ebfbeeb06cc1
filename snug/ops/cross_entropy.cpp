// The cross-entropies, from logits and from probabilities. A gradient computes its softmax again
// from the logits and may be written over them: nothing else is kept.

#include <algorithm>

#include "snug/base/error.h"
#include "snug/base/threads.h"
#include "snug/kernels/probability.h"
#include "snug/kernels/softmax.h"
#include "snug/ops/elementwise.h"
#include "snug/ops/ops.h"

namespace snug::ops {
namespace {

// A rough count for each score: an exponential or a logarithm, and what stands around it.
constexpr double kFlops = 16;

// A loss of each row of scores [..., classes], and its gradients. `targets` are int32 classes or
// float distributions.
struct RowLoss {
  std::string_view name;
  bool sparse;
  void (*loss)(const float* x, const void* targets, float* loss, int64_t rows, int64_t columns);
  void (*gradient)(const float* x, const void* targets, const float* dloss, float* dx, int64_t rows,
                   int64_t columns);
  void (*target_gradient)(const float* x, const float* dloss, float* dtargets, int64_t rows,
                          int64_t columns);
};

const int32_t* classes(const void* targets) { return static_cast<const int32_t*>(targets); }
const float* distributions(const void* targets) { return static_cast<const float*>(targets); }

const RowLoss kSparseFromLogits = {
    "sparse_softmax_cross_entropy", true,
    [](const float* x, const void* t, float* loss, int64_t rows, int64_t columns) {
      kernels::softmax_cross_entropy(x, classes(t), loss, rows, columns);
    },
    [](const float* x, const void* t, const float* dloss, float* dx, int64_t rows,
       int64_t columns) {
      kernels::softmax_cross_entropy_gradient(x, classes(t), dloss, dx, rows, columns);
    },
    nullptr};

const RowLoss kDenseFromLogits = {
    "softmax_cross_entropy", false,
    [](const float* x, const void* t, float* loss, int64_t rows, int64_t columns) {
      kernels::dense_softmax_cross_entropy(x, distributions(t), loss, rows, columns);
    },
    [](const float* x, const void* t, const float* dloss, float* dx, int64_t rows,
       int64_t columns) {
      kernels::dense_softmax_cross_entropy_gradient(x, distributions(t), dloss, dx, rows, columns);
    },
    kernels::dense_softmax_cross_entropy_target_gradient};

const RowLoss kSparse = {
    "sparse_cross_entropy", true,
    [](const float* x, const void* t, float* loss, int64_t rows, int64_t columns) {
      kernels::sparse_cross_entropy(x, classes(t), loss, rows, columns);
    },
    [](const float* x, const void* t, const float* dloss, float* dx, int64_t rows,
       int64_t columns) {
      kernels::sparse_cross_entropy_gradient(x, classes(t), dloss, dx, rows, columns);
    },
    nullptr};

const RowLoss kDense = {
    "cross_entropy", false,
    [](const float* x, const void* t, float* loss, int64_t rows, int64_t columns) {
      kernels::dense_cross_entropy(x, distributions(t), loss, rows, columns);
    },
    [](const float* x, const void* t, const float* dloss, float* dx, int64_t rows,
       int64_t columns) {
      kernels::dense_cross_entropy_gradient(x, distributions(t), dloss, dx, rows, columns);
    },
    kernels::dense_cross_entropy_target_gradient};

// Which of a row loss's three loops a node runs: from (x, targets), (x, targets, dloss) or
// (x, dloss).
enum class Pass { loss, gradient, target_gradient };

class RowLossKernel final : public Kernel {
 public:
  RowLossKernel(const RowLoss& loss, Pass pass, const Shape& x, const Target& target)
      : loss_(loss),
        pass_(pass),
        columns_(x[-1]),
        rows_(x.size() / std::max<int64_t>(columns_, 1)),
        threads_(elementwise_threads(x.size(), target)) {}

  // Over the scores, which every loop reads before it writes.
  std::vector<int> overwrites(int) const override {
    return pass_ == Pass::loss ? std::vector<int>{} : std::vector<int>{0};
  }

  void run(const Run& run) const noexcept override {
    parallel_ranges(rows_, threads_, 1, [&](int64_t begin, int64_t end) {
      const float* x = run.input(0) + begin * columns_;
      switch (pass_) {
        case Pass::loss:
          return loss_.loss(x, targets(run, begin), run.output() + begin, end - begin, columns_);
        case Pass::gradient:
          return loss_.gradient(x, targets(run, begin), run.input(2) + begin,
                                run.output() + begin * columns_, end - begin, columns_);
        case Pass::target_gradient:
          return loss_.target_gradient(x, run.input(1) + begin, run.output() + begin * columns_,
                                       end - begin, columns_);
      }
    });
  }

 private:
  const void* targets(const Run& run, int64_t row) const {
    if (loss_.sparse) return run.input<int32_t>(1) + row;
    return run.input(1) + row * columns_;
  }

  const RowLoss& loss_;
  Pass pass_;
  int64_t columns_, rows_;
  int threads_;
};

class RowLossOp final : public Op {
 public:
  RowLossOp(const RowLoss& loss, Pass pass) : loss_(loss), pass_(pass), name_(loss.name) {
    if (pass == Pass::gradient) name_ += "_gradient";
    if (pass == Pass::target_gradient) name_ += "_target_gradient";
  }

  std::string_view name() const override { return name_; }

  Types infer(const Types& in) const override {
    if (pass_ != Pass::loss) return {in[0]};
    const Shape& x = in[0].shape;
    if (in[0].dtype != DType::float32 || x.rank() == 0 || x.extent(-1).times_rows) {
      throw ShapeError("{}: expected float32[..., classes], got {}; give a score for each class",
                       name_, in[0].text());
    }
    const Shape leading = x.without(-1);
    const Type wanted = loss_.sparse ? Type{DType::int32, leading} : in[0];
    if (in[1] != wanted) {
      throw ShapeError("{}: scores {} want targets {}, got {}; {}", name_, in[0].text(),
                       wanted.text(), in[1].text(),
                       loss_.sparse ? "give the number of each row's class"
                                    : "give a distribution over the classes for each row");
    }
    return {{DType::float32, leading}};
  }

  Values gradient(const Node& node, const Values& dloss) const override {
    if (pass_ != Pass::loss) refuse_second_gradient(name_);
    const Value x = node.input(0), targets = node.input(1);
    Graph& graph = node.graph();
    return {
        graph.add<RowLossOp>({x, targets, dloss[0]}, loss_, Pass::gradient),
        loss_.sparse ? Value() : graph.add<RowLossOp>({x, dloss[0]}, loss_, Pass::target_gradient)};
  }

  Rows rows(const Types&) const override { return Rows::each; }

  Cost cost(const Types& in) const override {
    const Shape& x = in[0].shape;
    return elementwise_cost(in, pass_ == Pass::loss ? x.without(-1) : x,
                            pass_ == Pass::loss ? kFlops * static_cast<double>(x[-1]) : kFlops);
  }

  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    return std::make_unique<RowLossKernel>(loss_, pass_, in[0].shape, target);
  }

 private:
  const RowLoss& loss_;
  Pass pass_;
  std::string name_;
};

Value row_loss(Value x, Value targets, const RowLoss& loss) {
  if (!x || !targets) throw Error("{}: the {} are empty", loss.name, x ? "targets" : "scores");
  return x.graph().add<RowLossOp>({x, targets}, loss, Pass::loss);
}

// A loss of each element, with loops over the inputs of Pass.
struct ElementLoss {
  using Loop = void (*)(const float* const* in, float* out, int64_t count);

  std::string_view name;
  Loop loss, gradient, target_gradient;
};

const ElementLoss kSigmoidFromLogits = {"sigmoid_cross_entropy",
                                        [](const float* const* in, float* out, int64_t n) {
                                          kernels::sigmoid_cross_entropy(in[0], in[1], out, n);
                                        },
                                        [](const float* const* in, float* out, int64_t n) {
                                          kernels::sigmoid_cross_entropy_gradient(in[0], in[1],
                                                                                  in[2], out, n);
                                        },
                                        [](const float* const* in, float* out, int64_t n) {
                                          for (int64_t i = 0; i < n; ++i)
                                            out[i] = -in[0][i] * in[1][i];
                                        }};

const ElementLoss kBinary = {"binary_cross_entropy",
                             [](const float* const* in, float* out, int64_t n) {
                               kernels::binary_cross_entropy(in[0], in[1], out, n);
                             },
                             [](const float* const* in, float* out, int64_t n) {
                               kernels::binary_cross_entropy_gradient(in[0], in[1], in[2], out, n);
                             },
                             [](const float* const* in, float* out, int64_t n) {
                               kernels::binary_cross_entropy_target_gradient(in[0], in[1], out, n);
                             }};

class ElementLossOp final : public Op, private ElementwiseBlock {
 public:
  ElementLossOp(const ElementLoss& loss, Pass pass)
      : loss_(loss), pass_(pass), run_(loss.loss), name_(loss.name) {
    if (pass == Pass::gradient) {
      run_ = loss.gradient;
      name_ += "_gradient";
    } else if (pass == Pass::target_gradient) {
      run_ = loss.target_gradient;
      name_ += "_target_gradient";
    }
  }

  std::string_view name() const override { return name_; }

  Types infer(const Types& in) const override {
    if (in[0].dtype != DType::float32 || in[0] != in[1]) {
      throw ShapeError("{}: scores {} and targets {} must be float32 values of one shape", name_,
                       in[0].text(), in[1].text());
    }
    return {in[0]};
  }

  Values gradient(const Node& node, const Values& dloss) const override {
    if (pass_ != Pass::loss) refuse_second_gradient(name_);
    const Value x = node.input(0), targets = node.input(1);
    Graph& graph = node.graph();
    return {graph.add<ElementLossOp>({x, targets, dloss[0]}, loss_, Pass::gradient),
            graph.add<ElementLossOp>({x, dloss[0]}, loss_, Pass::target_gradient)};
  }

  Rows rows(const Types&) const override { return Rows::each; }
  Cost cost(const Types& in) const override { return elementwise_cost(in, in[0].shape, kFlops); }
  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    return elementwise_kernel(*this, in, in[0].shape, target);
  }
  const ElementwiseBlock* elementwise() const override { return this; }

 private:
  void run_block(const float* const* in, float* out, int64_t count,
                 const BlockPlace&) const noexcept override {
    run_(in, out, count);
  }

  const ElementLoss& loss_;
  Pass pass_;
  ElementLoss::Loop run_;
  std::string name_;
};

Value element_loss(Value x, Value targets, const ElementLoss& loss) {
  if (!x || !targets) throw Error("{}: the {} are empty", loss.name, x ? "targets" : "scores");
  return x.graph().add<ElementLossOp>({x, targets}, loss, Pass::loss);
}

}  // namespace

Value sparse_softmax_cross_entropy(Value logits, Value labels) {
  return row_loss(logits, labels, kSparseFromLogits);
}
Value softmax_cross_entropy(Value logits, Value targets) {
  return row_loss(logits, targets, kDenseFromLogits);
}
Value sigmoid_cross_entropy(Value logits, Value targets) {
  return element_loss(logits, targets, kSigmoidFromLogits);
}
Value sparse_cross_entropy(Value probabilities, Value labels) {
  return row_loss(probabilities, labels, kSparse);
}
Value cross_entropy(Value probabilities, Value targets) {
  return row_loss(probabilities, targets, kDense);
}
Value binary_cross_entropy(Value probabilities, Value targets) {
  return element_loss(probabilities, targets, kBinary);
}

}  // namespace snug::ops
