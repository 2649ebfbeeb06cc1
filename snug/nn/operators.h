// Arithmetic on symbols and, inside a trace, on values: y = 2 * x + bias. In a functional model an
// operation is no layer: Keras does not list it.
#pragma once

#include <optional>

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

// What stands behind an operator: Keras's Add, Subtract, Multiply, TrueDivide or Negative of
// keras.ops, with a number in the place of one operand where the program had one.
class Operation final : public LayerDefinition {
 public:
  // Throws Error that names the nearest right word.
  explicit Operation(std::string_view class_name, std::optional<double> number = std::nullopt,
                     bool number_first = false);

  std::string_view class_name() const override { return class_name_; }
  void settings(SettingVisitor&) override {}
  bool is_operation() const override { return true; }
  Values call(Tracer& tracer, const Values& in) override;

  // Keras keeps them among the arguments of the call, not among the settings.
  const std::optional<double>& number() const { return number_; }
  bool number_first() const { return number_first_; }

 private:
  std::string_view class_name_;
  std::optional<double> number_;
  bool number_first_;
};

}  // namespace snug
