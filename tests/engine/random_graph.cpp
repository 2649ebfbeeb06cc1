#include "tests/engine/random_graph.h"

#include <random>

#include "snug/autodiff/gradients.h"
#include "snug/ops/ops.h"

namespace snug::testing {
namespace {

class Generator {
 public:
  Generator(uint64_t seed, RandomStep& step) : random_(seed), step_(step) {
    values_.push_back(step.graph->input("x", {DType::float32, {kRows, pick(1, 40)}}));
    values_.push_back(step.graph->input("z", {DType::float32, {kRows, pick(1, 6), pick(1, 12)}}));
    values_.push_back(step.graph->input(
        "i", {DType::float32, {kRows, pick(2, 9), pick(2, 9), 1LL << pick(0, 4)}}));
  }

  void add_nodes(int count) {
    for (int i = 0; i < count; ++i) values_.push_back(next());
  }

  // All values that nobody read take part in the loss, so that no node is left out.
  Value loss() {
    Value total;
    for (size_t i = values_.size() - std::min<size_t>(values_.size(), 6); i < values_.size(); ++i) {
      const Value term = ops::sum(ops::square(ops::tanh(values_[i])));
      total = total ? ops::add(total, term) : term;
    }
    return total;
  }

 private:
  int64_t pick(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }

  Value any() {
    return values_[pick(std::max<int64_t>(0, std::ssize(values_) - 8), std::ssize(values_) - 1)];
  }

  Value variable(const Shape& shape) {
    // One in three is an old one of the same shape: shared parameters.
    if (pick(0, 2) == 0) {
      for (const Value& old : step_.variables) {
        if (old.shape() == shape) return old;
      }
    }
    step_.variables.push_back(step_.graph->variable("w" + std::to_string(step_.variables.size()),
                                                    {DType::float32, shape}));
    return step_.variables.back();
  }

  Value next() {
    const Value x = any();
    const int64_t channels = x.shape()[-1];
    if (x.shape().rank() == 4 && pick(0, 1) == 0) return of_image(x);
    switch (pick(0, 13)) {
      case 0:
        return ops::relu(x);
      case 1:
        return ops::tanh(x);
      case 2:
        return ops::sigmoid(ops::multiply_scalar(x, 0.5f));
      case 3:
        return ops::add(x, variable({channels}));
      case 4:
        return ops::multiply(x, ops::sigmoid(x));
      case 5:
      case 6: {
        const int64_t units = pick(1, 48);
        return ops::matmul(x, variable({channels, units}), {.bias = variable({units})});
      }
      case 7:
        return ops::softmax(x);
      case 8:
        return ops::layer_norm(x, {.gamma = variable({channels}), .beta = variable({channels})});
      case 9:
        return ops::subtract(x, ops::mean(x, {.axes = {-1}, .keepdims = true}));
      case 10:
        return ops::concat({x, ops::gelu(x)}, -1);
      case 11:
        return x.shape().rank() >= 3 ? ops::reshape(x, {kRows, x.shape().size_per_row()})
                                     : ops::elu(x);
      case 12:
        return ops::dropout(x, {.rate = 0.25f, .stream = static_cast<uint64_t>(pick(1, 1000))});
      default:
        return coupled(x);
    }
  }

  // What only images have: convolutions, poolings, and a normalisation over rows and pixels.
  Value of_image(Value x) {
    const int64_t height = x.shape()[1], width = x.shape()[2], channels = x.shape()[3];
    const int64_t size = pick(1, 3), filters = 1LL << pick(0, 4);
    const ops::Padding2D same = {(size - 1) / 2, (size - 1) / 2, size / 2, size / 2};
    switch (pick(0, 5)) {
      case 0:
      case 1:
        return ops::conv2d(x, variable({size, size, channels, filters}),
                           {.padding = same, .bias = variable({filters})});
      case 2:
        return ops::conv2d(x, variable({size, size, channels, filters}),
                           {.strides = {pick(1, 2), pick(1, 2)}, .padding = same});
      case 3:
        return ops::depthwise_conv2d(x, variable({size, size, channels, 1}), {.padding = same});
      case 4:
        return height < 2 || width < 2 ? ops::tanh(x) : ops::max_pool2d(x, {});
      default:
        return height < 2 || width < 2 ? ops::relu(x) : ops::average_pool2d(x, {});
    }
  }

  // Subtracts the mean over the batch: needs all rows at once.
  Value coupled(Value x) {
    const Value total = ops::sum(x, {.axes = {0}, .keepdims = true});
    return ops::subtract(x, ops::tanh(ops::reshape(total, total.shape().without(0))));
  }

  std::mt19937_64 random_;
  RandomStep& step_;
  Values values_;
};

}  // namespace

RandomStep random_step(uint64_t seed, int nodes) {
  RandomStep step;
  Generator generator(seed, step);
  generator.add_nodes(nodes);
  step.loss = generator.loss();
  const Values gradients = snug::gradients(step.loss, step.variables);
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (gradients[i])
      ops::assign_add(step.variables[i], ops::multiply_scalar(gradients[i], -1e-3f));
  }
  return step;
}

StepMemory::StepMemory(const Graph& graph, int64_t rows, uint64_t seed)
    : blocks(graph.value_count()), outside(graph.value_count()) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> draw(-1, 1);
  for (int value = 0; value < graph.value_count(); ++value) {
    if (graph.source(value) == Graph::Source::node) continue;
    const int64_t size = graph.type(value).at(rows).shape.size();
    blocks[value] = AlignedFloats(size);
    for (int64_t i = 0; i < size; ++i) blocks[value].data()[i] = draw(random);
    if (graph.source(value) == Graph::Source::variable) outside[value] = blocks[value].data();
  }
}

}  // namespace snug::testing
