// A network of layers, from symbols to symbols. It is itself a layer, so networks nest.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "snug/nn/layer.h"

namespace snug {

// Where data enters. Has no weights and adds no nodes.
class InputLayer final : public LayerDefinition {
 public:
  explicit InputLayer(const Type& type) : type(type) {}
  std::string_view class_name() const override { return "InputLayer"; }
  void settings(SettingVisitor& visitor) override;
  Values call(Tracer&, const Values& in) override { return in; }

  Type type;  // With rows outermost.
};

struct InputOptions {
  DType dtype = DType::float32;
  std::string name;
};

// Input({28, 28, 1}): the shape of one row. The first layer of a Sequential, or a symbol to call
// layers on.
class Input : public Layer {
 public:
  explicit Input(const Shape& row, const InputOptions& options = {});
  // Always the same one: Symbol x = Input({100}) is how Keras's users write it.
  operator Symbol() const { return symbol_; }  // NOLINT

 private:
  Symbol symbol_;
};

// One call of a layer in a network, in the order in which calls run.
struct LayerCall {
  LayerPtr layer;
  std::vector<std::pair<int, int>> in;  // (call, output) of each input.
  Types out;
};

// How a model's inputs or outputs were given: one symbol, a list, or a map by these keys, whose
// order is that of the symbols.
struct NetworkEnds {
  bool is_list = false;
  std::vector<std::string> keys;
};

class Network : public LayerDefinition {
 public:
  // A functional network. Throws Error when an output does not depend on the inputs alone, naming
  // what is missing.
  static std::shared_ptr<Network> functional(const Symbols& inputs, const Symbols& outputs,
                                             std::string name);
  // A stack of layers, each called on the result of the one before. Without an Input in front it
  // has no shapes until the first data is seen: see build().
  static std::shared_ptr<Network> sequential(const std::vector<Layer>& layers, std::string name);

  std::string_view class_name() const override {
    return is_sequential_ ? "Sequential" : "Functional";
  }
  void settings(SettingVisitor& visitor) override;
  void build(const Types& in) override;
  Values call(Tracer& tracer, const Values& in) override;
  std::vector<Layer> sublayers() const override;

  bool is_sequential() const { return is_sequential_; }
  bool is_defined() const { return !outputs_.empty(); }  // Shapes are known.
  // In Keras's order (keras.md 3.3), each once. Inputs first where Keras has them.
  const std::vector<LayerPtr>& layers() const { return layers_; }
  // The same with the raw operators on symbols among them, as in Keras's summary.
  const std::vector<LayerPtr>& layers_and_operations() const {
    return is_sequential_ ? layers_ : layers_and_operations_;
  }
  const std::vector<LayerCall>& calls() const { return calls_; }
  const std::vector<int>& input_calls() const { return inputs_; }
  const std::vector<std::pair<int, int>>& output_calls() const { return outputs_; }
  // What a call gives, as a symbol that more layers can be called on.
  Symbol symbol(int call, int output) const { return {nodes_.at(call), output}; }
  Types input_types() const;
  Types output_types() const;
  // Of each output: the name of the layer that gives it, as Keras names its logs.
  std::vector<std::string> output_names() const;
  std::vector<std::string> input_names() const;

  // For files: Keras hands results out in the same form.
  NetworkEnds input_ends, output_ends;

  // Adds a layer to the end of a sequential network, before it is built or after.
  void add(const Layer& layer);

  // Names unnamed layers as Keras does (dense, dense_1, ...) and gives every layer and weight its
  // path, this network being the root.
  void set_paths();

 private:
  void define(const Symbols& inputs, const Symbols& outputs);
  void append(const Layer& layer);
  void stack_if_known();
  void stack(const Type& input);
  // All that have a name: inputs and operations too.
  std::vector<LayerPtr> named_layers() const;
  static void set_paths_inside(const LayerDefinition& owner, const std::string& prefix);
  bool is_alone(const std::pair<int, int>& result) const;

  bool is_sequential_ = false;
  std::vector<LayerPtr> stack_;  // Of a sequential network, without its input.
  LayerPtr stack_input_;
  std::vector<LayerPtr> layers_, layers_and_operations_;
  std::vector<LayerCall> calls_;
  std::vector<std::shared_ptr<const SymbolNode>> nodes_;  // Of each call.
  std::vector<int> inputs_;
  std::vector<std::pair<int, int>> outputs_;
};

// Keras's automatic name for a class: "Conv2DTranspose" -> "conv2d_transpose".
std::string snake_case(std::string_view class_name);

// Which class the user most likely meant (nearest_word.h), spelled as the user spells:
// "max_pooling2d" where `word` has no capitals, else "MaxPooling2D". Empty: none.
std::string nearest_class(std::string_view word, std::span<const std::string_view> class_names);

}  // namespace snug
