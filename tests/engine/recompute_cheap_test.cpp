// Cheap chains behind a barrier: the same bits in less memory.

#include "snug/plan/recompute_cheap.h"

#include <gtest/gtest.h>

#include <cstring>

#include "snug/autodiff/gradients.h"
#include "snug/exec/program.h"
#include "snug/ops/batch_norm.h"
#include "snug/plan/fuse.h"
#include "snug/tensor/arena.h"
#include "tests/engine/random_graph.h"

namespace snug {
namespace {

constexpr int64_t kBatch = 64, kWidth = 48;
constexpr int kLayers = 4;

// Layers, each normalised and followed by `activation`.
struct Layers {
  explicit Layers(const std::function<Value(Value)>& activation) {
    Value x = graph.input("x", {DType::float32, {kRows, 9, kWidth}});
    Values weights;
    for (int i = 0; i < kLayers; ++i) {
      weights.push_back(
          graph.variable("w" + std::to_string(i), {DType::float32, {kWidth, kWidth}}));
      const Value h = ops::matmul(x, weights.back());
      x = activation(ops::batch_normalise(h, ops::batch_statistics(h, 1e-3f), {}, true));
      middle = i == 0 ? x : middle;
    }
    const Value loss = ops::sum(ops::square(ops::matmul(x, weights[0])));
    results = gradients(loss, weights);
    results.push_back(loss);
  }

  Graph graph;
  Value middle;  // The result of the first layer.
  Values results;
};

Values in_graph(const Graph& graph, const Values& values) {
  Values same;
  for (const Value& value : values) same.emplace_back(const_cast<Graph&>(graph), value.id());
  return same;
}

int count(const Graph& graph, std::string_view op) {
  int found = 0;
  for (const Node* node : graph.nodes()) found += node->op().name() == op;
  return found;
}

struct Ran {
  std::vector<float> numbers;
  size_t arena_bytes;
};

Ran run(const Graph& graph, const Values& values) {
  const Values results = in_graph(graph, values);
  Program program = make_program(graph, results, kBatch, {.threads = 2}, kUnlimited,
                                 {.partition = {.forced_part_rows = 8}});
  testing::StepMemory memory(graph, kBatch, 5);
  Arena arena(program.arena_bytes() + 64);
  program.bind(arena.data(), memory.outside);
  for (const int input : graph.of_source(Graph::Source::input)) {
    const Tensor slot = program.tensor(Value(const_cast<Graph&>(graph), input));
    std::memcpy(slot.data, memory.blocks[input].data(), slot.bytes());
  }
  program.run({}, Program::Mode::checked);
  Ran ran{{}, program.arena_bytes()};
  for (const Value& result : results) {
    const auto elements = program.tensor(result).as<float>();
    ran.numbers.insert(ran.numbers.end(), elements.begin(), elements.end());
  }
  return ran;
}

TEST(RecomputeCheap, GivesTheSameBitsInLessMemory) {
  const Layers layers([](Value x) { return ops::relu(x); });
  const auto again = recompute_cheap(layers.graph, layers.results);
  EXPECT_EQ(count(layers.graph, "relu"), kLayers);
  EXPECT_EQ(count(*again, "relu"), 2 * kLayers - 1);  // Behind the last one stands no barrier.
  const Ran plain = run(layers.graph, layers.results);
  EXPECT_EQ(plain.numbers, run(*again, layers.results).numbers);
  const Ran less = run(*fuse(layers.graph, layers.results), layers.results);
  EXPECT_EQ(plain.numbers, less.numbers);
  // Of the two values a layer that the backward pass reads one need not be kept.
  EXPECT_LE(less.arena_bytes + kBatch * 9 * kWidth * sizeof(float), plain.arena_bytes);
}

TEST(RecomputeCheap, LeavesDrawsAndDearChains) {
  const Layers drawn([](Value x) { return ops::dropout(x, {.rate = 0.5f, .stream = 1}); });
  EXPECT_EQ(count(*recompute_cheap(drawn.graph, drawn.results), "dropout"),
            count(drawn.graph, "dropout"));
  const Layers summed([](Value x) { return ops::softmax(x); });
  EXPECT_EQ(count(*recompute_cheap(summed.graph, summed.results), "softmax"), kLayers);
}

TEST(RecomputeCheap, LeavesWhatTheCallerReads) {
  Layers layers([](Value x) { return ops::relu(x); });
  layers.results.push_back(layers.middle);
  const auto again = recompute_cheap(layers.graph, layers.results);
  EXPECT_EQ(count(*again, "relu"), 2 * kLayers - 2);
  EXPECT_EQ(run(layers.graph, layers.results).numbers, run(*again, layers.results).numbers);
}

// The input of the chain is read by nobody behind the barrier: keeping it would cost as much.
TEST(RecomputeCheap, LeavesChainsWhoseInputsEnd) {
  Graph graph;
  const Value x = graph.input("x", {DType::float32, {kRows, 64}});
  const Value h = ops::matmul(x, graph.variable("w", {DType::float32, {64, 64}}));
  const Value y = ops::relu(h);
  const Value centred = ops::subtract(y, ops::sum(y, {.axes = {0}}));
  EXPECT_EQ(count(*recompute_cheap(graph, {centred}), "relu"), 1);
}

}  // namespace
}  // namespace snug
