#include "snug/nn/symbol_ops.h"

#include "snug/nn/operation.h"

namespace snug::ops {
namespace {

Symbol reduced(std::string_view name, const Symbol& x, const ReduceOptions& options) {
  OperationArguments arguments{.keepdims = options.keepdims};
  if (!options.axes.empty()) arguments.axes.emplace(options.axes.begin(), options.axes.end());
  return apply_operation(name, {x}, std::move(arguments));
}

Value number_beside(Value x, double number) {
  return constant(x.graph(), Shape{}, static_cast<float>(number));
}

// What -1 stands for; Keras has it for the rows.
std::vector<int64_t> resolved(const Shape& shape, const Shape& from) {
  std::vector<int64_t> extents;
  int64_t product = 1;
  for (const Extent extent : shape.extents()) {
    extents.push_back(extent.times_rows ? -1 : extent.count);
    if (!extent.times_rows && extent.count > 0) product *= extent.count;
  }
  for (int i = 0; i < shape.rank(); ++i) {
    if (extents[i] == -1 && !shape.extent(i).times_rows) extents[i] = from.size_per_row() / product;
  }
  return extents;
}

}  // namespace

Symbol abs(const Symbol& x) { return apply_operation("Absolute", {x}); }
Symbol square(const Symbol& x) { return apply_operation("Square", {x}); }
Symbol sqrt(const Symbol& x) { return apply_operation("Sqrt", {x}); }
Symbol rsqrt(const Symbol& x) { return apply_operation("Rsqrt", {x}); }
Symbol reciprocal(const Symbol& x) { return apply_operation("Reciprocal", {x}); }
Symbol exp(const Symbol& x) { return apply_operation("Exp", {x}); }
Symbol expm1(const Symbol& x) { return apply_operation("Expm1", {x}); }
Symbol log(const Symbol& x) { return apply_operation("Log", {x}); }
Symbol log1p(const Symbol& x) { return apply_operation("Log1p", {x}); }
Symbol sign(const Symbol& x) { return apply_operation("Sign", {x}); }
Symbol floor(const Symbol& x) { return apply_operation("Floor", {x}); }
Symbol sin(const Symbol& x) { return apply_operation("Sin", {x}); }
Symbol cos(const Symbol& x) { return apply_operation("Cos", {x}); }
Symbol erf(const Symbol& x) { return apply_operation("Erf", {x}); }
Symbol clip(const Symbol& x, float low, float high) {
  return apply_operation("Clip", {x}, {.low = low, .high = high});
}

Symbol tanh(const Symbol& x) { return apply_operation("Tanh", {x}); }
Symbol sigmoid(const Symbol& x) { return apply_operation("Sigmoid", {x}); }
Symbol relu(const Symbol& x) { return apply_operation("Relu", {x}); }
Symbol relu6(const Symbol& x) { return apply_operation("Relu6", {x}); }
Symbol leaky_relu(const Symbol& x, float negative_slope) {
  return apply_operation("LeakyRelu", {x}, {.slope = negative_slope});
}
Symbol elu(const Symbol& x, float alpha) { return apply_operation("Elu", {x}, {.slope = alpha}); }
Symbol selu(const Symbol& x) { return apply_operation("Selu", {x}); }
Symbol gelu(const Symbol& x, bool approximate) {
  return apply_operation("Gelu", {x}, {.approximate = approximate});
}
Symbol silu(const Symbol& x) { return apply_operation("Silu", {x}); }
Symbol softplus(const Symbol& x) { return apply_operation("Softplus", {x}); }
Symbol softsign(const Symbol& x) { return apply_operation("Softsign", {x}); }
Symbol softmax(const Symbol& x, int axis) {
  return apply_operation("Softmax", {x}, {.axis = axis});
}
Symbol log_softmax(const Symbol& x, int axis) {
  return apply_operation("LogSoftmax", {x}, {.axis = axis});
}

Symbol power(const Symbol& a, const Symbol& b) { return apply_operation("Power", {a, b}); }
Symbol power(const Symbol& a, double b) { return apply_operation("Power", {a}, {.number = b}); }
Symbol power(double a, const Symbol& b) {
  return apply_operation("Power", {b}, {.number = a, .number_first = true});
}
Symbol maximum(const Symbol& a, const Symbol& b) { return apply_operation("Maximum", {a, b}); }
Symbol maximum(const Symbol& a, double b) { return apply_operation("Maximum", {a}, {.number = b}); }
Symbol minimum(const Symbol& a, const Symbol& b) { return apply_operation("Minimum", {a, b}); }
Symbol minimum(const Symbol& a, double b) { return apply_operation("Minimum", {a}, {.number = b}); }
Symbol matmul(const Symbol& a, const Symbol& b) { return apply_operation("Matmul", {a, b}); }

Symbol sum(const Symbol& x, const ReduceOptions& options) { return reduced("Sum", x, options); }
Symbol mean(const Symbol& x, const ReduceOptions& options) { return reduced("Mean", x, options); }
Symbol max(const Symbol& x, const ReduceOptions& options) { return reduced("Max", x, options); }
Symbol min(const Symbol& x, const ReduceOptions& options) { return reduced("Min", x, options); }
Symbol product(const Symbol& x, const ReduceOptions& options) {
  return reduced("Prod", x, options);
}

Symbol get_item(const Symbol& x, const std::vector<Index>& key) {
  return apply_operation("GetItem", {x}, {.key = key});
}
Symbol reshape(const Symbol& x, const Shape& shape) {
  return apply_operation("Reshape", {x}, {.shape = resolved(shape, x.shape())});
}
Symbol transpose(const Symbol& x, const std::vector<int>& axes) {
  return apply_operation("Transpose", {x},
                         {.axes = std::vector<int64_t>(axes.begin(), axes.end())});
}
Symbol expand_dims(const Symbol& x, int axis) {
  return apply_operation("ExpandDims", {x}, {.axis = axis});
}
Symbol squeeze(const Symbol& x, std::optional<int> axis) {
  return apply_operation("Squeeze", {x}, {.one_axis = axis});
}
Symbol concat(const Symbols& values, int axis) {
  return apply_operation("Concatenate", values, {.axis = axis});
}
Symbol stop_gradient(const Symbol& x) { return apply_operation("StopGradient", {x}); }

Value power(Value a, double b) { return b == 2 ? square(a) : power(a, number_beside(a, b)); }
Value maximum(Value a, double b) { return maximum(a, number_beside(a, b)); }
Value minimum(Value a, double b) { return minimum(a, number_beside(a, b)); }

}  // namespace snug::ops
