// Arithmetic on symbols and, inside a trace, on values: y = 2 * x + bias. In a functional model an
// operation is no layer: Keras does not list it.
#pragma once

#include "snug/nn/layer.h"

namespace snug {

Symbol operator+(const Symbol& a, const Symbol& b);
Symbol operator+(const Symbol& a, double b);
Symbol operator+(double a, const Symbol& b);
Symbol operator-(const Symbol& a, const Symbol& b);
Symbol operator-(const Symbol& a, double b);
Symbol operator-(double a, const Symbol& b);
Symbol operator*(const Symbol& a, const Symbol& b);
Symbol operator*(const Symbol& a, double b);
Symbol operator*(double a, const Symbol& b);
Symbol operator/(const Symbol& a, const Symbol& b);
Symbol operator/(const Symbol& a, double b);
Symbol operator/(double a, const Symbol& b);
Symbol operator-(const Symbol& x);

Value operator+(Value a, Value b);
Value operator+(Value a, double b);
Value operator+(double a, Value b);
Value operator-(Value a, Value b);
Value operator-(Value a, double b);
Value operator-(double a, Value b);
Value operator*(Value a, Value b);
Value operator*(Value a, double b);
Value operator*(double a, Value b);
Value operator/(Value a, Value b);
Value operator/(Value a, double b);
Value operator/(double a, Value b);
Value operator-(Value x);

}  // namespace snug
