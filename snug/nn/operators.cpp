#include "snug/nn/operators.h"

#include <array>

#include "snug/base/error.h"
#include "snug/base/nearest_word.h"
#include "snug/ops/ops.h"

namespace snug {
namespace {

constexpr std::array<std::string_view, 6> kNames = {"Add",        "Subtract", "Multiply",
                                                    "TrueDivide", "Divide",   "Negative"};

std::string_view known_name(std::string_view name) {
  for (const std::string_view known : kNames) {
    if (known == name) return known;
  }
  throw Error("there is no operation \"{}\"; {}", name, did_you_mean(name, kNames));
}

Symbol on_symbols(std::string_view name, const Symbols& in,
                  std::optional<double> number = std::nullopt, bool number_first = false) {
  return make_layer<Operation>(name, number, number_first)(in);
}

Value number_like(Value x, double number) {
  return ops::constant(x.graph(), Shape{}, static_cast<float>(number));
}

}  // namespace

Operation::Operation(std::string_view class_name, std::optional<double> number, bool number_first)
    : class_name_(known_name(class_name)), number_(number), number_first_(number_first) {}

Values Operation::call(Tracer&, const Values& in) {
  const size_t wanted = class_name_ == "Negative" || number_ ? 1 : 2;
  if (in.size() != wanted)
    throw ShapeError("{}: it takes {} values, got {}", label(), wanted, in.size());
  Values x;
  for (const Value& value : in)
    x.push_back(value.dtype() == DType::float32 ? value : ops::cast(value, DType::float32));
  if (class_name_ == "Negative") return {-x[0]};
  if (number_) x.insert(number_first_ ? x.begin() : x.end(), number_like(x[0], *number_));
  if (class_name_ == "Add") return {x[0] + x[1]};
  if (class_name_ == "Subtract") return {x[0] - x[1]};
  if (class_name_ == "Multiply") return {x[0] * x[1]};
  return {x[0] / x[1]};
}

Symbol operator+(const Symbol& a, const Symbol& b) { return on_symbols("Add", {a, b}); }
Symbol operator+(const Symbol& a, double b) { return on_symbols("Add", {a}, b); }
Symbol operator+(double a, const Symbol& b) { return on_symbols("Add", {b}, a, true); }
Symbol operator-(const Symbol& a, const Symbol& b) { return on_symbols("Subtract", {a, b}); }
Symbol operator-(const Symbol& a, double b) { return on_symbols("Subtract", {a}, b); }
Symbol operator-(double a, const Symbol& b) { return on_symbols("Subtract", {b}, a, true); }
Symbol operator*(const Symbol& a, const Symbol& b) { return on_symbols("Multiply", {a, b}); }
Symbol operator*(const Symbol& a, double b) { return on_symbols("Multiply", {a}, b); }
Symbol operator*(double a, const Symbol& b) { return on_symbols("Multiply", {b}, a, true); }
Symbol operator/(const Symbol& a, const Symbol& b) { return on_symbols("TrueDivide", {a, b}); }
Symbol operator/(const Symbol& a, double b) { return on_symbols("TrueDivide", {a}, b); }
Symbol operator/(double a, const Symbol& b) { return on_symbols("TrueDivide", {b}, a, true); }
Symbol operator-(const Symbol& x) { return on_symbols("Negative", {x}); }

Value operator+(Value a, Value b) { return ops::add(a, b); }
Value operator+(Value a, double b) { return ops::add_scalar(a, static_cast<float>(b)); }
Value operator+(double a, Value b) { return b + a; }
Value operator-(Value a, Value b) { return ops::subtract(a, b); }
Value operator-(Value a, double b) { return ops::add_scalar(a, -static_cast<float>(b)); }
Value operator-(double a, Value b) { return number_like(b, a) - b; }
Value operator*(Value a, Value b) { return ops::multiply(a, b); }
Value operator*(Value a, double b) { return ops::multiply_scalar(a, static_cast<float>(b)); }
Value operator*(double a, Value b) { return b * a; }
Value operator/(Value a, Value b) { return ops::divide(a, b); }
Value operator/(Value a, double b) { return a / number_like(a, b); }
Value operator/(double a, Value b) { return number_like(b, a) / b; }
Value operator-(Value x) { return ops::negate(x); }

}  // namespace snug
