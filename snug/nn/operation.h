// A raw operation on symbols, as x + y or keras.ops.exp(x) are in Keras: part of a functional
// model, but none of its layers.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "snug/nn/get_item.h"
#include "snug/nn/layer.h"

namespace snug {

// What an operation is told beside its operands; each reads what its class has.
struct OperationArguments {
  // In the place of one of two operands, the second or the first.
  std::optional<double> number;
  bool number_first = false;
  std::vector<ops::Index> key;  // Of GetItem.

  int64_t axis = -1;                         // Softmax, Concatenate, ExpandDims.
  std::optional<int64_t> one_axis;           // Squeeze.
  std::optional<std::vector<int64_t>> axes;  // Sum, Mean, ..., Transpose.
  bool keepdims = false;
  std::vector<int64_t> shape;       // Reshape: -1 for the rows.
  std::optional<double> low, high;  // Clip.
  std::optional<double> slope;      // LeakyRelu, Elu.
  bool approximate = true;          // Gelu.
};

struct OperationEntry;

// By Keras's class name of keras.ops: "Add", "GetItem", "Softmax".
class Operation final : public LayerDefinition {
 public:
  // Throws Error that names the nearest right word.
  explicit Operation(std::string_view class_name, OperationArguments arguments = {});

  std::string_view class_name() const override;
  // What Keras has in its config; the number and the key are among the arguments of its call.
  void settings(SettingVisitor& visitor) override;
  bool is_operation() const override { return true; }
  // Throws ShapeError, also where rows would not stay rows.
  Values call(Tracer& tracer, const Values& in) override;

  const OperationArguments& arguments() const { return arguments_; }
  std::string_view module() const;  // "keras.src.ops.numpy"
  bool takes_list() const;          // Its operands are one list: Concatenate.

 private:
  const OperationEntry& entry_;
  OperationArguments arguments_;
};

// On symbols.
Symbol apply_operation(std::string_view class_name, const Symbols& in,
                       OperationArguments arguments = {});

}  // namespace snug
