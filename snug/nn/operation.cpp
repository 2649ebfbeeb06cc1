#include "snug/nn/operation.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "snug/base/error.h"
#include "snug/base/nearest_word.h"
#include "snug/nn/activation.h"
#include "snug/ops/ops.h"

namespace snug {

using Arguments = OperationArguments;

// All that is known of one.
struct OperationEntry {
  std::string_view name;
  int operands;  // 0: a list of any number.
  Value (*apply)(Tracer& tracer, const Values& x, const Arguments& arguments);
  std::string_view module = "keras.src.ops.numpy";
  void (*settings)(SettingVisitor& visitor, Arguments& arguments) = nullptr;
  bool keeps_dtype = false;  // Moves numbers of any type.
};

namespace {

constexpr std::string_view kNn = "keras.src.ops.nn", kMath = "keras.src.ops.math",
                           kCore = "keras.src.ops.core", kNumpy = "keras.src.ops.numpy";

template <Value (*function)(Value)>
Value unary(Tracer&, const Values& x, const Arguments&) {
  return function(x[0]);
}
template <Value (*function)(Value, Value)>
Value binary(Tracer&, const Values& x, const Arguments&) {
  return function(x[0], x[1]);
}
// The loss is told of the logits.
template <const char* word>
Value activation(Tracer& tracer, const Values& x, const Arguments&) {
  return apply_activation(tracer, word, x[0]);
}
constexpr char kSigmoid[] = "sigmoid", kSoftmax[] = "softmax";

// As a file has it, which may be anything.
int small(int64_t axis) { return static_cast<int>(std::clamp<int64_t>(axis, -1000, 1000)); }

// An axis that is not that of rows, from the front.
int inner_axis(int64_t axis, const Shape& x) {
  const int at = normalised_axis(small(axis), x.rank(), "axis");
  if (x.extent(at).times_rows)
    throw ShapeError(
        "axis {} of {} are the rows of the batch, each of which stands for itself; give other axes",
        axis, x.text());
  return at;
}

template <Value (*reduce)(Value, const ops::ReduceOptions&)>
Value reduction(Tracer&, const Values& x, const Arguments& arguments) {
  const Shape& shape = x[0].shape();
  ops::ReduceOptions options{.axes = {}, .keepdims = arguments.keepdims};
  if (arguments.axes) {
    for (const int64_t axis : *arguments.axes) options.axes.push_back(inner_axis(axis, shape));
  } else {
    for (int axis = 0; axis < shape.rank(); ++axis) options.axes.push_back(inner_axis(axis, shape));
  }
  return options.axes.empty() ? x[0] : reduce(x[0], options);
}

Value power(Tracer&, const Values& x, const Arguments& arguments) {
  const bool squares = arguments.number == 2 && !arguments.number_first;
  return squares ? ops::square(x[0]) : ops::power(x[0], x[1]);
}

Value softmax(Tracer& tracer, const Values& x, const Arguments& arguments) {
  const int axis = inner_axis(arguments.axis, x[0].shape());
  const bool is_last = axis + 1 == x[0].shape().rank();
  return is_last ? apply_activation(tracer, kSoftmax, x[0]) : ops::softmax(x[0], axis);
}

Value reshape(Tracer&, const Values& x, const Arguments& arguments) {
  const Shape& from = x[0].shape();
  const std::vector<int64_t>& wanted = arguments.shape;
  const int64_t elements = from.part(std::min(1, from.rank()), from.rank()).size();
  int64_t product = 1;
  const bool is_whole = !wanted.empty() && wanted[0] == -1 && wanted.size() <= Shape::kMaxRank;
  bool fits = is_whole && from.has_rows();
  for (size_t i = 1; i < wanted.size() && fits; ++i) {
    fits = wanted[i] > 0 && wanted[i] <= elements / product;
    if (fits) product *= wanted[i];
  }
  if (!fits || product != elements)
    throw ShapeError(
        "a row of {} has {} elements, and the shape {{{}}} is not -1 for the rows with as many",
        from.text(), elements, fmt::join(wanted, ", "));
  Shape to{kRows};
  for (size_t i = 1; i < wanted.size(); ++i) to.push_back(wanted[i]);
  return ops::reshape(x[0], to);
}

Value transpose(Tracer&, const Values& x, const Arguments& arguments) {
  const Shape& shape = x[0].shape();
  if (!arguments.axes || arguments.axes->empty() || arguments.axes->front() != 0)
    throw ShapeError("the rows of {} must stay its first axis; give axes that begin with 0",
                     shape.text());
  std::vector<int> axes = {0};
  for (size_t i = 1; i < arguments.axes->size(); ++i)
    axes.push_back(inner_axis(arguments.axes->at(i), shape));
  return ops::transpose(x[0], axes);
}

Value matmul(Tracer&, const Values& x, const Arguments&) { return ops::matmul(x[0], x[1]); }
Value relu(Tracer&, const Values& x, const Arguments&) { return ops::relu(x[0]); }
Value clip(Tracer&, const Values& x, const Arguments& arguments) {
  constexpr double kFar = std::numeric_limits<double>::infinity();
  return ops::clip(x[0], static_cast<float>(arguments.low.value_or(-kFar)),
                   static_cast<float>(arguments.high.value_or(kFar)));
}
Value concatenate(Tracer&, const Values& x, const Arguments& arguments) {
  return ops::concat(x, inner_axis(arguments.axis, x[0].shape()));
}
Value log_softmax(Tracer&, const Values& x, const Arguments& arguments) {
  return ops::log_softmax(x[0], inner_axis(arguments.axis, x[0].shape()));
}
Value elu(Tracer&, const Values& x, const Arguments& arguments) {
  return ops::elu(x[0], static_cast<float>(arguments.slope.value_or(1)));
}
Value leaky_relu(Tracer&, const Values& x, const Arguments& arguments) {
  return ops::leaky_relu(x[0], static_cast<float>(arguments.slope.value_or(0.2)));
}
Value gelu(Tracer&, const Values& x, const Arguments& arguments) {
  return ops::gelu(x[0], arguments.approximate);
}
Value get_item(Tracer&, const Values& x, const Arguments& arguments) {
  return ops::get_item(x[0], arguments.key);
}
Value expand_dims(Tracer&, const Values& x, const Arguments& arguments) {
  return ops::expand_dims(x[0], small(arguments.axis));
}
Value squeeze(Tracer&, const Values& x, const Arguments& arguments) {
  if (!arguments.one_axis) return ops::squeeze(x[0]);
  return ops::squeeze(x[0], small(*arguments.one_axis));
}

void visit_axis(SettingVisitor& visitor, Arguments& arguments) {
  visitor.visit("axis", arguments.axis);
}
void visit_one_axis(SettingVisitor& visitor, Arguments& arguments) {
  visitor.visit("axis", arguments.one_axis);
}
void visit_axes(SettingVisitor& visitor, Arguments& arguments) {
  visitor.visit("axes", arguments.axes);
}
void visit_reduction(SettingVisitor& visitor, Arguments& arguments) {
  visitor.visit("axis", arguments.axes);
  visitor.visit("keepdims", arguments.keepdims);
}
void visit_shape(SettingVisitor& visitor, Arguments& arguments) {
  visitor.visit("newshape", arguments.shape);
}
void visit_clip(SettingVisitor& visitor, Arguments& arguments) {
  visitor.visit("x_min", arguments.low);
  visitor.visit("x_max", arguments.high);
}
void visit_alpha(SettingVisitor& visitor, Arguments& arguments) {
  visitor.visit("alpha", arguments.slope);
}
void visit_slope(SettingVisitor& visitor, Arguments& arguments) {
  visitor.visit("negative_slope", arguments.slope);
}
void visit_approximate(SettingVisitor& visitor, Arguments& arguments) {
  visitor.visit("approximate", arguments.approximate);
}

const OperationEntry kEntries[] = {
    {"Add", 2, binary<ops::add>},
    {"Subtract", 2, binary<ops::subtract>},
    {"Multiply", 2, binary<ops::multiply>},
    {"TrueDivide", 2, binary<ops::divide>},
    {"Divide", 2, binary<ops::divide>},
    {"Power", 2, power},
    {"Maximum", 2, binary<ops::maximum>},
    {"Minimum", 2, binary<ops::minimum>},
    {"Matmul", 2, matmul},
    {"Negative", 1, unary<ops::negate>},
    {"Absolute", 1, unary<ops::abs>},
    {"Square", 1, unary<ops::square>},
    {"Sqrt", 1, unary<ops::sqrt>},
    {"Rsqrt", 1, unary<ops::rsqrt>, kMath},
    {"Reciprocal", 1, unary<ops::reciprocal>},
    {"Exp", 1, unary<ops::exp>},
    {"Expm1", 1, unary<ops::expm1>},
    {"Log", 1, unary<ops::log>},
    {"Log1p", 1, unary<ops::log1p>},
    {"Sign", 1, unary<ops::sign>},
    {"Floor", 1, unary<ops::floor>},
    {"Sin", 1, unary<ops::sin>},
    {"Cos", 1, unary<ops::cos>},
    {"Erf", 1, unary<ops::erf>, kMath},
    {"Clip", 1, clip, kNumpy, visit_clip},
    {"Tanh", 1, unary<ops::tanh>},
    {"Sigmoid", 1, activation<kSigmoid>, kNn},
    {"Relu", 1, relu, kNn},
    {"Relu6", 1, unary<ops::relu6>, kNn},
    {"LeakyRelu", 1, leaky_relu, kNn, visit_slope},
    {"Elu", 1, elu, kNn, visit_alpha},
    {"Selu", 1, unary<ops::selu>, kNn},
    {"Gelu", 1, gelu, kNn, visit_approximate},
    {"Silu", 1, unary<ops::silu>, kNn},
    {"Softplus", 1, unary<ops::softplus>, kNn},
    {"Softsign", 1, unary<ops::softsign>, kNn},
    {"Softmax", 1, softmax, kNn, visit_axis},
    {"LogSoftmax", 1, log_softmax, kNn, visit_axis},
    {"Sum", 1, reduction<ops::sum>, kNumpy, visit_reduction},
    {"Mean", 1, reduction<ops::mean>, kNumpy, visit_reduction},
    {"Max", 1, reduction<ops::max>, kNumpy, visit_reduction},
    {"Min", 1, reduction<ops::min>, kNumpy, visit_reduction},
    {"Prod", 1, reduction<ops::product>, kNumpy, visit_reduction},
    {"StopGradient", 1, unary<ops::stop_gradient>, kCore},
    {"GetItem", 1, get_item, kNumpy, nullptr, true},
    {"Reshape", 1, reshape, kNumpy, visit_shape, true},
    {"Transpose", 1, transpose, kNumpy, visit_axes, true},
    {"ExpandDims", 1, expand_dims, kNumpy, visit_axis, true},
    {"Squeeze", 1, squeeze, kNumpy, visit_one_axis, true},
    {"Concatenate", 0, concatenate, kNumpy, visit_axis, true},
};

const OperationEntry& entry_of(std::string_view name) {
  std::vector<std::string_view> names;
  for (const OperationEntry& entry : kEntries) {
    if (entry.name == name) return entry;
    names.push_back(entry.name);
  }
  throw Error("there is no operation \"{}\"; {}", name, did_you_mean(name, names));
}

// In the types that it computes in; of several that are moved together, in one type.
Values converted(const OperationEntry& entry, const Values& in) {
  const bool alike =
      std::ranges::all_of(in, [&](const Value& value) { return value.dtype() == in[0].dtype(); });
  if (entry.keeps_dtype && alike) return in;
  Values x;
  for (const Value& value : in)
    x.push_back(value.dtype() == DType::float32 ? value : ops::cast(value, DType::float32));
  return x;
}

}  // namespace

Operation::Operation(std::string_view class_name, OperationArguments arguments)
    : entry_(entry_of(class_name)), arguments_(std::move(arguments)) {}

std::string_view Operation::class_name() const { return entry_.name; }
std::string_view Operation::module() const { return entry_.module; }
bool Operation::takes_list() const { return entry_.operands == 0; }

void Operation::settings(SettingVisitor& visitor) {
  if (entry_.settings != nullptr) entry_.settings(visitor, arguments_);
}

Values Operation::call(Tracer& tracer, const Values& in) {
  const size_t wanted = takes_list() ? std::max<size_t>(1, in.size()) : entry_.operands;
  const size_t given = in.size() + (arguments_.number ? 1 : 0);
  if (in.empty() || given != wanted)
    throw ShapeError("{}: it takes {} values, got {}", label(), wanted, given);
  Values x = converted(entry_, in);
  if (arguments_.number) {
    const Value number =
        ops::constant(x[0].graph(), Shape{}, static_cast<float>(*arguments_.number));
    x.insert(arguments_.number_first ? x.begin() : x.end(), number);
  }
  return {entry_.apply(tracer, x, arguments_)};
}

Symbol apply_operation(std::string_view class_name, const Symbols& in,
                       OperationArguments arguments) {
  return make_layer<Operation>(class_name, std::move(arguments))(in);
}

}  // namespace snug
