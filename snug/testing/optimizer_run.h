// An optimizer at work on weights of a test, through a graph and its program.
#pragma once

#include <algorithm>
#include <cstring>

#include "snug/exec/program.h"
#include "snug/optim/optimizer.h"
#include "snug/tensor/arena.h"
#include "snug/testing/check_op.h"
#include "snug/testing/commit_run.h"

namespace snug::testing {

using Floats = std::vector<float>;

struct TestWeight {
  std::string name;
  Shape shape;
  Floats start;
  int64_t listed = 0;  // Of a table: its gradient lists up to so many rows; 0: it is dense.
};

struct TestGradient {
  Floats elements;               // The whole gradient, or the sums of the listed rows.
  std::vector<int32_t> indices;  // Of the listed rows.
};

class OptimizerRun {
 public:
  OptimizerRun(const Optimizer& optimizer, const std::vector<TestWeight>& weights, int threads = 1)
      : optimizer_(optimizer) {
    Values gradients;
    for (const TestWeight& weight : weights) {
      weights_.push_back(graph_.variable(weight.name, {DType::float32, weight.shape}));
      gradients.push_back(add_gradient(weight));
    }
    nodes_ = optimizer.apply_gradients(gradients, weights_);
    allocate(weights);
    Values results = {nodes_.reach};
    if (nodes_.square_norms) results.push_back(nodes_.square_norms);
    program_.emplace(make_program(graph_, results, 1, {.threads = threads}));
    arena_ = Arena(program_->arena_bytes());
    std::vector<void*> outside(graph_.value_count());
    for (int i = 0; i < graph_.value_count(); ++i) {
      if (!memory_[i].empty()) outside[i] = memory_[i].data();
    }
    program_->bind(arena_.data(), outside);
  }

  void give(const std::vector<TestGradient>& gradients) {
    for (size_t i = 0; i < gradients.size(); ++i) {
      const auto& [elements, indices] = gradients[i];
      copy(elements, inputs_[i][0]);
      if (inputs_[i].size() == 1) continue;
      copy(indices, inputs_[i][1]);
      copy(std::vector<int32_t>{static_cast<int32_t>(indices.size())}, inputs_[i][2]);
    }
    copy(Floats{optimizer_->learning_rate_at(iterations())}, nodes_.learning_rate);
  }
  void run(Program::Mode mode = Program::Mode::plain) { program_->run({}, mode); }
  void step(const std::vector<TestGradient>& gradients) {
    give(gradients);
    run(Program::Mode::checked);
  }

  int64_t iterations() const { return tensor(nodes_.variables[0]).as<int64_t>()[0]; }
  const OptimizerNodes& nodes() const { return nodes_; }
  Tensor tensor(Value value) const { return program_->tensor(value); }
  Tensor weight(size_t i) const { return tensor(weights_[i]); }
  Floats values(Value value) const {
    const auto span = tensor(value).as<float>();
    return {span.begin(), span.end()};
  }
  Floats weight_values(size_t i) const { return values(weights_[i]); }
  // The slots of one role.
  std::vector<Tensor> slots(Slot::Role role) const {
    std::vector<Tensor> found;
    for (size_t i = 0; i < nodes_.slots.size(); ++i) {
      if (nodes_.slots[i].role == role) found.push_back(tensor(nodes_.variables[i]));
    }
    return found;
  }
  const Graph& graph() const { return graph_; }

 private:
  Value add_gradient(const TestWeight& weight) {
    if (weight.listed == 0) {
      inputs_.push_back({graph_.input("g", {DType::float32, weight.shape})});
      return inputs_.back()[0];
    }
    const Extent n = weight.listed;
    inputs_.push_back({graph_.input("sums", {DType::float32, {n, weight.shape[1]}}),
                       graph_.input("indices", {DType::int32, Shape{n}}),
                       graph_.input("count", {DType::int32, Shape{Extent(1)}})});
    return listed_rows(inputs_.back()[0], inputs_.back()[1], inputs_.back()[2]);
  }

  void allocate(const std::vector<TestWeight>& weights) {
    memory_.resize(graph_.value_count());
    for (size_t i = 0; i < weights.size(); ++i) {
      Doubles start(weights[i].start.begin(), weights[i].start.end());
      memory_[weights_[i].id()] = to_bytes(start, DType::float32);
    }
    for (size_t i = 0; i < nodes_.slots.size(); ++i) {
      const Slot& slot = nodes_.slots[i];
      memory_[nodes_.variables[i].id()] =
          to_bytes(Doubles(slot.type.shape.size(), slot.initial), slot.type.dtype);
    }
  }

  template <typename T>
  void copy(const std::vector<T>& from, Value to) {
    SNUG_CHECK(from.size() <= static_cast<size_t>(to.shape().size()));
    std::ranges::copy(from, program_->tensor(to).as<T>().begin());
  }

  Optimizer optimizer_;
  Graph graph_;
  Values weights_;
  std::vector<Values> inputs_;  // Of each gradient.
  OptimizerNodes nodes_;
  std::vector<Bytes> memory_;  // By the graph's number of the variable.
  std::optional<Program> program_;
  Arena arena_;
};

}  // namespace snug::testing
