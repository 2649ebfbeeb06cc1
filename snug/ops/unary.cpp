// The element-wise functions of one value: one row of the catalogue each, on the loops of
// kernels/unary.h.

#include "snug/kernels/unary.h"

#include <array>

#include "snug/base/error.h"
#include "snug/ops/batch_norm.h"
#include "snug/ops/dropout.h"
#include "snug/ops/elementwise.h"
#include "snug/ops/ops.h"
#include "snug/ops/unary.h"

namespace snug::ops {
namespace {

using kernels::Unary;
using Parameters = std::array<float, 3>;

// A rough count: an exponential and a division make most of them.
constexpr double kFlops = 10;

// dx = dy * f'(x), from (saved, dy), where saved is the output or the input of f.
class UnaryGradient final : public Op, private ElementwiseBlock {
 public:
  UnaryGradient(std::string name, Unary function, const Parameters& parameters)
      : name_(std::move(name)),
        function_(function),
        run_(kernels::unary_gradient_function(function)),
        parameters_(parameters) {}

  Unary function() const { return function_; }

  std::string_view name() const override { return name_; }
  Types infer(const Types& in) const override { return {in[0]}; }
  Values gradient(const Node&, const Values&) const override { refuse_second_gradient(name_); }
  Rows rows(const Types&) const override { return Rows::each; }
  Cost cost(const Types& in) const override { return elementwise_cost(in, in[0].shape, kFlops); }
  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    return elementwise_kernel(*this, in, in[0].shape, target);
  }
  const ElementwiseBlock* elementwise() const override { return this; }

 private:
  void run_block(const float* const* in, float* out, int64_t count,
                 const BlockPlace&) const noexcept override {
    run_(in[0], in[1], out, count, parameters_.data());
  }

  std::string name_;
  Unary function_;
  kernels::UnaryGradientFunction run_;
  Parameters parameters_;
};

class UnaryOp final : public Op, private ElementwiseBlock {
 public:
  UnaryOp(std::string_view name, Unary function, const Parameters& parameters)
      : name_(name),
        function_(function),
        run_(kernels::unary_function(function)),
        parameters_(parameters) {}

  Unary function() const { return function_; }
  std::string_view name() const override { return name_; }

  std::string attributes() const override {
    std::string text;
    for (int i = 0; i < kernels::parameter_count(function_); ++i)
      text += fmt::format("{}{}", i ? " " : "", parameters_[i]);
    return text;
  }

  Types infer(const Types& in) const override {
    if (in[0].dtype != DType::float32) {
      throw ShapeError("{}: expected float32, got {}; cast it first", name_, in[0].text());
    }
    return {in[0]};
  }

  Values gradient(const Node& node, const Values& dy) const override {
    if (const Dropped dropped = dropped_behind(node, dy[0]); dropped.result)
      return {add_gradient(dropped.result, multiply_scalar(dropped.dy, dropped.scale))};
    return {add_gradient(kernels::gradient_reads_output(function_) ? node.output() : node.input(0),
                         dy[0])};
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
    run_(in[0], out, count, parameters_.data());
  }

  Value add_gradient(Value saved, Value dy) const {
    return dy.graph().add<UnaryGradient>({saved, dy}, name_ + "_gradient", function_, parameters_);
  }

  // What a relu lets through is above 0, and so is what dropout leaves of it: where dropout alone
  // reads it, that one's result says what is 0 of either. Nothing is drawn again, and the relu's
  // own result need not be kept. Behind batch norm the relu of a dropout that is no element-wise
  // loop is part of that one's gradient, which saves a pass.
  Dropped dropped_behind(const Node& node, Value dy) const {
    if (function_ != Unary::relu) return {};
    const Node* before = node.input(0).producer();
    const bool is_normal = before != nullptr && is_batch_normalise(before->op());
    if (is_normal && dy.producer() != nullptr && dy.producer()->op().elementwise() == nullptr)
      return {};
    return dropped_gradient(node.output(), dy);
  }

  std::string name_;
  Unary function_;
  kernels::UnaryFunction run_;
  Parameters parameters_;
};

Value unary(Value x, std::string_view name, Unary function, const Parameters& parameters = {}) {
  if (!x) throw Error("{}: the value is empty", name);
  return x.graph().add<UnaryOp>({x}, name, function, parameters);
}

}  // namespace

Value negate(Value x) { return unary(x, "negate", Unary::negate); }
Value abs(Value x) { return unary(x, "abs", Unary::abs); }
Value square(Value x) { return unary(x, "square", Unary::square); }
Value sqrt(Value x) { return unary(x, "sqrt", Unary::sqrt); }
Value rsqrt(Value x) { return unary(x, "rsqrt", Unary::rsqrt); }
Value reciprocal(Value x) { return unary(x, "reciprocal", Unary::reciprocal); }
Value exp(Value x) { return unary(x, "exp", Unary::exp); }
Value expm1(Value x) { return unary(x, "expm1", Unary::expm1); }
Value log(Value x) { return unary(x, "log", Unary::log); }
Value log1p(Value x) { return unary(x, "log1p", Unary::log1p); }
Value sign(Value x) { return unary(x, "sign", Unary::sign); }
Value floor(Value x) { return unary(x, "floor", Unary::floor); }
Value sin(Value x) { return unary(x, "sin", Unary::sin); }
Value cos(Value x) { return unary(x, "cos", Unary::cos); }
Value erf(Value x) { return unary(x, "erf", Unary::erf); }

Value clip(Value x, float low, float high) {
  if (!(low <= high))
    throw Error("clip: the bounds {} and {} are the wrong way round; give the lower one first", low,
                high);
  return unary(x, "clip", Unary::clip, {low, high});
}

Value relu(Value x, const ReluOptions& options) {
  const bool plain = options.negative_slope == 0 && options.threshold == 0 &&
                     options.max_value == std::numeric_limits<float>::infinity();
  if (plain) return unary(x, "relu", Unary::relu);
  // As in Keras, this one has the gradient 0 at its bound; it reads the result only.
  if (options.negative_slope == 0 && options.threshold == 0 && options.max_value == 6)
    return relu6(x);
  if (options.negative_slope < 0) {
    throw Error("relu: negative_slope is {}; it must not be negative", options.negative_slope);
  }
  return unary(x, "relu", Unary::general_relu,
               {options.max_value, options.negative_slope, options.threshold});
}

namespace {

bool is_function(const Op& op, Unary function) {
  const auto* unary = dynamic_cast<const UnaryOp*>(&op);
  return unary != nullptr && unary->function() == function;
}

}  // namespace

bool is_relu(const Op& op) { return is_function(op, Unary::relu); }
bool is_relu6(const Op& op) { return is_function(op, Unary::relu6); }

// Both read their result.
Rectified rectified_gradient(Value x, Value dx) {
  const Node* gradient = dx.producer();
  const auto* of =
      gradient == nullptr ? nullptr : dynamic_cast<const UnaryGradient*>(&gradient->op());
  if (of == nullptr) return {};
  const Node* function = gradient->input(0).producer();
  if (function == nullptr || function->input(0) != x) return {};
  const Op& op = function->op();
  if (!is_function(op, of->function()) || !(is_relu(op) || is_relu6(op))) return {};
  return {&op, gradient->input(1)};
}

Value leaky_relu(Value x, float negative_slope) {
  if (negative_slope < 0)
    throw Error("leaky_relu: negative_slope is {}; it must not be negative", negative_slope);
  return unary(x, "leaky_relu", Unary::leaky_relu, {negative_slope});
}

Value relu6(Value x) { return unary(x, "relu6", Unary::relu6); }

Value elu(Value x, float alpha) {
  if (alpha < 0) throw Error("elu: alpha is {}; it must not be negative", alpha);
  return unary(x, "elu", Unary::elu, {alpha});
}

Value selu(Value x) { return unary(x, "selu", Unary::selu); }

Value gelu(Value x, bool approximate) {
  return approximate ? unary(x, "gelu", Unary::gelu_tanh) : unary(x, "gelu", Unary::gelu);
}

Value silu(Value x) { return unary(x, "silu", Unary::silu); }
Value sigmoid(Value x) { return unary(x, "sigmoid", Unary::sigmoid); }
Value hard_sigmoid(Value x) { return unary(x, "hard_sigmoid", Unary::hard_sigmoid); }
Value hard_silu(Value x) { return unary(x, "hard_silu", Unary::hard_silu); }
Value tanh(Value x) { return unary(x, "tanh", Unary::tanh); }
Value softplus(Value x) { return unary(x, "softplus", Unary::softplus); }
Value softsign(Value x) { return unary(x, "softsign", Unary::softsign); }
Value mish(Value x) { return unary(x, "mish", Unary::mish); }
Value log_sigmoid(Value x) { return unary(x, "log_sigmoid", Unary::log_sigmoid); }

Value celu(Value x, float alpha) {
  if (!(alpha > 0)) throw Error("celu: alpha is {}; it must be above 0", alpha);
  return unary(x, "celu", Unary::celu, {alpha});
}

Value hard_tanh(Value x) { return unary(x, "hard_tanh", Unary::hard_tanh); }
Value tanh_shrink(Value x) { return unary(x, "tanh_shrink", Unary::tanh_shrink); }

Value soft_shrink(Value x, float threshold) {
  if (threshold < 0)
    throw Error("soft_shrink: the threshold is {}; it must not be negative", threshold);
  return unary(x, "soft_shrink", Unary::soft_shrink, {threshold});
}

Value hard_shrink(Value x, float threshold) {
  if (threshold < 0)
    throw Error("hard_shrink: the threshold is {}; it must not be negative", threshold);
  return unary(x, "hard_shrink", Unary::hard_shrink, {threshold});
}

Value squareplus(Value x, float b) { return unary(x, "squareplus", Unary::squareplus, {b}); }

}  // namespace snug::ops
