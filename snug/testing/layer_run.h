// A layer at work in a test, through a graph and its program.
#pragma once

#include <cstring>
#include <optional>
#include <span>

#include "snug/autodiff/gradients.h"
#include "snug/exec/program.h"
#include "snug/nn/layer.h"
#include "snug/ops/ops.h"
#include "snug/tensor/arena.h"
#include "snug/testing/check_op.h"

namespace snug::testing {

// One call of a layer. Types have concrete shapes; the first extent counts the rows.
class LayerRun {
 public:
  struct Options {
    bool training = false;
    std::optional<Type> mask;  // Of the first input.
    bool gradients = true;
    uint64_t seed = 1;  // Of the weights.
  };

  LayerRun(const Layer& layer, const Types& inputs, const Options& options)
      : layer_(layer), tracer_(graph_, options.training), rows_(inputs[0].shape[0]) {
    for (const Type& type : inputs)
      inputs_.push_back(graph_.input("x" + std::to_string(inputs_.size()), open(type)));
    if (options.mask) {
      mask_ = graph_.input("mask", open(*options.mask));
      tracer_.set_mask(inputs_[0], mask_);
    }
    y = call_layer(layer.definition(), tracer_, inputs_)[0];
    allocate(layer.weights(), options.seed);
    results_ = {y};
    if (const Value mask = tracer_.mask(y); mask && mask.producer()) results_.push_back(mask);
    if (options.gradients) add_gradients();
  }

  // Makes the program; inputs can be filled and it can be run from here on.
  void prepare(int threads = 1) {
    program_.emplace(make_program(graph_, results_, rows_, {.threads = threads}));
    arena_ = Arena(program_->arena_bytes());
    std::vector<void*> outside(graph_.value_count());
    for (const auto& [variable, value] : tracer_.variables())
      outside[value.id()] = variable->tensor().data;
    program_->bind(arena_.data(), outside);
  }

  // Into an input, the mask or the upstream gradient.
  void give(Value value, const Doubles& elements) {
    const Tensor tensor = program_->tensor(value);
    const Bytes bytes = to_bytes(elements, tensor.dtype());
    SNUG_CHECK(bytes.size() == tensor.bytes(), "{} bytes for {}", bytes.size(), value.name());
    std::memcpy(tensor.data, bytes.data(), bytes.size());
  }

  void run(const StepInfo& step = {}) { program_->run(step, Program::Mode::checked); }

  Doubles read(Value value) const {
    const Tensor tensor = program_->tensor(value);
    Bytes bytes(tensor.bytes());
    std::memcpy(bytes.data(), tensor.data, bytes.size());
    return to_doubles(bytes, tensor.dtype());
  }

  const Values& inputs() const { return inputs_; }
  Value mask_input() const { return mask_; }
  Value upstream() const { return upstream_; }
  Value output_mask() const { return tracer_.mask(y); }
  // Of the inputs, then of the trainable weights; empty where none flows.
  const Values& gradients() const { return gradients_; }
  const Tracer& tracer() const { return tracer_; }
  const Graph& graph() const { return graph_; }

  Value y;

 private:
  static Type open(const Type& type) {
    Type symbolic = type;
    symbolic.shape.set(0, kRows);
    return symbolic;
  }

  void add_gradients() {
    Values wrt = inputs_;
    for (const VariablePtr& variable : layer_.trainable_weights())
      wrt.push_back(tracer_.value(variable));
    upstream_ = graph_.input("g", y.type());
    gradients_ = snug::gradients(y, upstream_, wrt);
    for (size_t i = 0; i < wrt.size(); ++i) {
      Value& gradient = gradients_[i];
      if (!gradient) continue;
      const Node* node = gradient.producer();
      if (node && node->op().traits().row_gradient)
        gradient = ops::dense_rows(gradient, wrt[i].shape());
      results_.push_back(gradient);
    }
  }

  Layer layer_;
  Graph graph_;
  Tracer tracer_;
  int64_t rows_;
  Values inputs_, gradients_, results_;
  Value mask_, upstream_;
  std::optional<Program> program_;
  Arena arena_;
};

}  // namespace snug::testing
