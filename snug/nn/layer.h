// A layer: weights, and how it adds its nodes to a graph. Users hold cheap handles; a layer called
// twice shares its weights.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "snug/base/settings.h"
#include "snug/nn/tracer.h"
#include "snug/nn/variable.h"

namespace snug {

class LayerDefinition;

// Whether a layer is trained: a bool to read. Setting it sets it of all layers inside too, as in
// Keras; each of them may be set for itself afterwards.
class Trainable {
 public:
  explicit Trainable(LayerDefinition& layer) : layer_(layer) {}
  Trainable(const Trainable&) = delete;
  Trainable& operator=(const Trainable& other) { return *this = bool(other); }
  Trainable& operator=(bool value);
  operator bool() const { return value_; }  // NOLINT: if (layer->trainable)

 private:
  LayerDefinition& layer_;
  bool value_ = true;
};

// The inside of a layer, to be subclassed. A layer of one's own is a class derived from this and a
// make_layer call.
class LayerDefinition : public Configurable {
 public:
  // Creates the weights, by add_weight, once the types of the inputs are known. Throws ShapeError
  // that names the layer and the shape when they do not fit.
  virtual void build(const Types& /*in*/) {}

  // Adds the layer's nodes. Called once for each use and graph; `in` has the rank and channels that
  // build saw.
  virtual Values call(Tracer& tracer, const Values& in) = 0;

  // Whether a mask of the input is a mask of the output too.
  virtual bool passes_mask() const { return false; }

  // A raw operator on symbols (x + y), which Keras does not count among a model's layers.
  virtual bool is_operation() const { return false; }

  // Makes one value of several (Add, Concatenate): Keras calls it on a list, so it stands in no
  // Sequential.
  virtual bool merges() const { return false; }

  // Layers inside this one (a nested model's, a wrapper's), in Keras's order. One that calls others
  // lists them here: they are named, trained, frozen, counted and saved with it.
  virtual std::vector<class Layer> sublayers() const;

  // State that `adapt` or the user sets, not training.
  const Variables& own_variables() const { return variables_; }
  bool is_built() const { return built_; }
  void ensure_built(const Types& in);

  // For messages: the name, or Keras's word for the class.
  std::string label() const;

  std::string name;  // As the user gave it; empty: the model chooses, as Keras does.
  // The name is a model's choice, not the user's: in another model it may have to be another one.
  bool named_by_model = false;
  std::string path;  // Within the model: set when the layer joins one.
  Trainable trainable{*this};

 protected:
  VariablePtr add_weight(VariableSpec spec);

 private:
  Variables variables_;
  bool built_ = false;
};
using LayerPtr = std::shared_ptr<LayerDefinition>;

struct SymbolNode;

// A value that is not computed yet: what Input gives and layers pass on when a functional model is
// put together. It has a type and remembers how it came about.
class Symbol {
 public:
  Symbol() = default;
  Symbol(std::shared_ptr<const SymbolNode> node, int output)
      : node_(std::move(node)), output_(output) {}

  explicit operator bool() const { return node_ != nullptr; }
  const Type& type() const;
  const Shape& shape() const { return type().shape; }
  const std::shared_ptr<const SymbolNode>& node() const { return node_; }
  int output() const { return output_; }
  friend bool operator==(const Symbol&, const Symbol&) = default;

 private:
  std::shared_ptr<const SymbolNode> node_;
  int output_ = 0;
};
using Symbols = std::vector<Symbol>;

// One call of a layer on symbols.
struct SymbolNode {
  LayerPtr layer;
  Symbols in;
  Types out;
};

class Layer {
 public:
  explicit Layer(LayerPtr definition) : definition_(std::move(definition)) {}

  // What it gives; throws Error where that is several values, which call() gives.
  Symbol operator()(const Symbol& x) const { return only(call(Symbols{x})); }
  Symbol operator()(const Symbols& in) const { return only(call(in)); }
  Symbols call(const Symbols& in) const;

  // Inside a trace: adds the nodes to the graph that is being traced.
  Value operator()(Value x) const { return only(call(Values{x})); }
  Value operator()(const Values& in) const { return only(call(in)); }
  Values call(const Values& in) const;

  const LayerPtr& definition() const { return definition_; }
  LayerDefinition* operator->() const { return definition_.get(); }

  // All weights in Keras's order: this layer's own, trained ones first, then those of each
  // sublayer.
  Variables weights() const;
  // Each layer's own `trainable` decides; none are trained where this one is not.
  Variables trainable_weights() const;
  Variables non_trainable_weights() const;
  // Copies of the values, in the order of weights(); first values where there were none yet, as
  // Model::ensure_weights(0) gives them.
  std::vector<std::vector<float>> get_weights() const;
  // Throws Error that names the weight and both sizes when they do not fit.
  void set_weights(const std::vector<std::vector<float>>& values) const;

 private:
  template <typename T>
  T only(const std::vector<T>& given) const {
    expect_one(given.size());
    return given[0];
  }
  void expect_one(size_t given) const;

  LayerPtr definition_;
};

template <typename Definition, typename... Args>
Layer make_layer(Args&&... args) {
  return Layer(std::make_shared<Definition>(std::forward<Args>(args)...));
}

// Calls a layer on values of the tracer's graph: opens the layer's scope, builds it if need be,
// adds penalties of its weights, passes masks on.
Values call_layer(const LayerPtr& layer, Tracer& tracer, const Values& in);

// The trace that this thread is in, for Layer::call on values. Throws Error outside a trace.
Tracer& current_tracer();
class TracerScope {
 public:
  explicit TracerScope(Tracer& tracer);
  ~TracerScope();
  TracerScope(const TracerScope&) = delete;
  TracerScope& operator=(const TracerScope&) = delete;

 private:
  Tracer* outer_;
};

}  // namespace snug
