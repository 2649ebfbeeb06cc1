// Matrix products: of batches of matrices, of rows with weights, and the weight gradient as a sum
// over rows.

#include "snug/base/error.h"
#include "snug/ops/matrix_product.h"
#include "snug/ops/ops.h"

namespace snug::ops {
namespace {

void require_floats(const Types& in) {
  for (const Type& type : in) {
    if (type.dtype != DType::float32) {
      throw ShapeError("matmul: expected float32 values, got {} and {}; cast them first",
                       in[0].text(), in[1].text());
    }
  }
}

Cost product_cost(const Types& in, const Type& out, double depth) {
  Cost cost{.flops = 2 * depth * static_cast<double>(out.shape.size()),
            .bytes = static_cast<double>(out.bytes())};
  for (const Type& type : in) cost.bytes += static_cast<double>(type.bytes());
  return cost;
}

// w [p, q] = sum over all leading positions of x [..., p] times y [..., q].
class RowProducts final : public Op {
 public:
  std::string_view name() const override { return "matmul_weights_gradient"; }
  Types infer(const Types& in) const override {
    return {{DType::float32, {in[0].shape.extent(-1), in[1].shape.extent(-1)}}};
  }
  Values gradient(const Node& node, const Values& dw) const override {
    return {matmul(node.input(1), dw[0], {.transpose_b = true}), matmul(node.input(0), dw[0])};
  }
  Rows rows(const Types& in) const override {
    return in[0].shape.has_rows() && in[1].shape.has_rows() ? Rows::sum : Rows::coupled;
  }
  Cost cost(const Types& in) const override { return product_cost(in, infer(in)[0], depth(in)); }
  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    return matrix_product_kernel({.m = in[0].shape[-1],
                                  .n = in[1].shape[-1],
                                  .k = static_cast<int64_t>(depth(in)),
                                  .transpose_a = true,
                                  .accumulates = true},
                                 target);
  }

 private:
  static double depth(const Types& in) {
    return static_cast<double>(in[0].shape.size() / std::max<int64_t>(in[0].shape[-1], 1));
  }
};

class Matmul final : public Op {
 public:
  Matmul(bool transpose_a, bool transpose_b)
      : transpose_a_(transpose_a), transpose_b_(transpose_b) {}

  std::string_view name() const override { return "matmul"; }
  std::string attributes() const override {
    return fmt::format("{}{}", transpose_a_ ? "transpose_a " : "",
                       transpose_b_ ? "transpose_b" : "");
  }

  Types infer(const Types& in) const override {
    require_floats(in);
    const Shape &a = in[0].shape, &b = in[1].shape;
    if (a.rank() < 2 || b.rank() < 2) refuse(a, b, "each needs two axes or more");
    if (!is_flat(in) && a.part(0, a.rank() - 2) != b.part(0, b.rank() - 2)) {
      refuse(a, b, "the leading axes must be the same");
    }
    const Extent k = a.extent(transpose_a_ ? -2 : -1), n = b.extent(transpose_b_ ? -2 : -1);
    if (k != b.extent(transpose_b_ ? -1 : -2)) refuse(a, b, "the inner extents differ");
    if (in.size() > 2 && in[2].shape != Shape{n}) {
      throw ShapeError("matmul: a bias of {} does not fit {} columns; its shape must be [{}]",
                       in[2].shape.text(), n.count, n.count);
    }
    Shape y = a;
    if (transpose_a_) y.set(-2, a.extent(-1));
    y.set(-1, n);
    return {{DType::float32, y}};
  }

  Values gradient(const Node& node, const Values& dy) const override {
    const Value a = node.input(0), b = node.input(1), g = dy[0];
    Values result;
    if (transpose_a_)
      result.push_back(matmul(b, g, {.transpose_a = transpose_b_, .transpose_b = true}));
    else
      result.push_back(matmul(g, b, {.transpose_b = !transpose_b_}));
    result.push_back(weights_gradient(node.input_types(), a, g));
    if (node.in().size() > 2) {
      ReduceOptions all_but_last;
      for (int axis = 0; axis + 1 < g.shape().rank(); ++axis) all_but_last.axes.push_back(axis);
      result.push_back(sum(g, all_but_last));
    }
    return result;
  }

  Rows rows(const Types& in) const override {
    const bool a = in[0].shape.has_rows(), b = in[1].shape.has_rows();
    if (is_flat(in)) return a && !b ? Rows::each : Rows::coupled;
    if (in[0].shape.rank() == 2)
      // A bias would count once for each part.
      return transpose_a_ && !transpose_b_ && a && b && in.size() == 2 ? Rows::sum : Rows::coupled;
    return a && b ? Rows::each : Rows::coupled;
  }

  Cost cost(const Types& in) const override {
    return product_cost(in, infer(in)[0], static_cast<double>(in[0].shape[transpose_a_ ? -2 : -1]));
  }

  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    const Shape y = infer(in)[0].shape;
    MatrixProduct product{.m = y[-2],
                          .n = y[-1],
                          .k = in[0].shape[transpose_a_ ? -2 : -1],
                          .transpose_a = transpose_a_,
                          .transpose_b = transpose_b_,
                          .bias = in.size() > 2};
    const int64_t matrices = y.size() / std::max<int64_t>(y[-1] * y[-2], 1);
    if (is_flat(in)) {
      product.m *= matrices;
      product.constant_b = true;
    } else {
      product.batch = matrices;
    }
    product.accumulates = in[0].shape.rank() == 2 && transpose_a_ && !product.bias;
    return matrix_product_kernel(product, target);
  }

 private:
  // All leading axes of a are rows of one product with one matrix.
  bool is_flat(const Types& in) const { return in[1].shape.rank() == 2 && !transpose_a_; }

  Value weights_gradient(const Types& in, Value a, Value g) const {
    if (is_flat(in))
      return transpose_b_ ? g.graph().add<RowProducts>({g, a}) : g.graph().add<RowProducts>({a, g});
    if (transpose_b_) return matmul(g, a, {.transpose_a = true, .transpose_b = transpose_a_});
    return matmul(a, g, {.transpose_a = !transpose_a_});
  }

  [[noreturn]] void refuse(const Shape& a, const Shape& b, std::string_view why) const {
    throw ShapeError("matmul: {}{} and {}{} do not multiply: {}", a.text(),
                     transpose_a_ ? " transposed" : "", b.text(), transpose_b_ ? " transposed" : "",
                     why);
  }

  bool transpose_a_, transpose_b_;
};

}  // namespace

Value matmul(Value a, Value b, const MatmulOptions& options) {
  if (!a || !b) throw Error("matmul: the {} value is empty", a ? "second" : "first");
  Values in = {a, b};
  if (options.bias) in.push_back(options.bias);
  return a.graph().add<Matmul>(in, options.transpose_a, options.transpose_b);
}

}  // namespace snug::ops
