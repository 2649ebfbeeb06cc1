#include "snug/nn/operators.h"

#include "snug/nn/operation.h"
#include "snug/ops/ops.h"

namespace snug {
namespace {

Value number_like(Value x, double number) {
  return ops::constant(x.graph(), Shape{}, static_cast<float>(number));
}

Symbol with_number(std::string_view name, const Symbol& x, double number, bool first = false) {
  return apply_operation(name, {x}, {.number = number, .number_first = first});
}

}  // namespace

Symbol operator+(const Symbol& a, const Symbol& b) { return apply_operation("Add", {a, b}); }
Symbol operator+(const Symbol& a, double b) { return with_number("Add", a, b); }
Symbol operator+(double a, const Symbol& b) { return with_number("Add", b, a, true); }
Symbol operator-(const Symbol& a, const Symbol& b) { return apply_operation("Subtract", {a, b}); }
Symbol operator-(const Symbol& a, double b) { return with_number("Subtract", a, b); }
Symbol operator-(double a, const Symbol& b) { return with_number("Subtract", b, a, true); }
Symbol operator*(const Symbol& a, const Symbol& b) { return apply_operation("Multiply", {a, b}); }
Symbol operator*(const Symbol& a, double b) { return with_number("Multiply", a, b); }
Symbol operator*(double a, const Symbol& b) { return with_number("Multiply", b, a, true); }
Symbol operator/(const Symbol& a, const Symbol& b) { return apply_operation("TrueDivide", {a, b}); }
Symbol operator/(const Symbol& a, double b) { return with_number("TrueDivide", a, b); }
Symbol operator/(double a, const Symbol& b) { return with_number("TrueDivide", b, a, true); }
Symbol operator-(const Symbol& x) { return apply_operation("Negative", {x}); }

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
