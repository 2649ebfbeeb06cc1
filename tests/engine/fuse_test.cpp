// Fused chains whose inputs broadcast in every direction: the rows come from the right input.

#include "snug/plan/fuse.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "snug/exec/program.h"
#include "snug/ops/batch_norm.h"
#include "snug/tensor/arena.h"
#include "tests/engine/random_graph.h"

namespace snug {
namespace {

using testing::StepMemory;

std::vector<float> result_of(const Graph& graph, Value result, int64_t rows) {
  Graph& same = const_cast<Graph&>(graph);
  const Value value(same, result.id());
  Program program = make_program(graph, {value}, rows, {});
  StepMemory memory(graph, rows, 5);
  Arena arena(program.arena_bytes() + 64);
  program.bind(arena.data(), memory.outside);
  for (const int input : graph.of_source(Graph::Source::input)) {
    const Tensor slot = program.tensor(Value(same, input));
    std::memcpy(slot.data, memory.blocks[input].data(), slot.bytes());
  }
  program.run({}, Program::Mode::checked);
  const auto elements = program.tensor(value).as<float>();
  return {elements.begin(), elements.end()};
}

// At two numbers of rows: one of them is the extent that does not count rows. `nodes` are left.
void expect_same_fused(const std::function<Value(Graph&)>& build, size_t nodes = 1) {
  Graph graph;
  const Value result = build(graph);
  const std::unique_ptr<Graph> fused = fuse(graph, {result});
  EXPECT_EQ(fused->nodes().size(), nodes);
  for (const int64_t rows : {1, 7}) {
    EXPECT_EQ(result_of(graph, result, rows), result_of(*fused, result, rows)) << rows;
  }
}

TEST(Fuse, AVariableOfOneRowIsNoRow) {
  expect_same_fused([](Graph& graph) {
    const Value p = graph.variable("p", {DType::float32, {1, 5}});
    const Value x = graph.input("x", {DType::float32, {kRows, 5}});
    return ops::relu(ops::add(p, x));
  });
}

TEST(Fuse, NoInputNeedHaveTheResultsShape) {
  expect_same_fused([](Graph& graph) {
    const Value a = graph.input("a", {DType::float32, {kRows, 8, 1}});
    const Value b = graph.input("b", {DType::float32, {kRows, 1, 8}});
    return ops::square(ops::subtract(a, b));
  });
  expect_same_fused([](Graph& graph) {
    const Value x = graph.input("x", {DType::float32, {kRows, 1}});
    const Value w = graph.variable("w", {DType::float32, {8}});
    return ops::relu(ops::multiply(x, w));
  });
}

TEST(Fuse, RowsMayStandInside) {
  expect_same_fused([](Graph& graph) {
    const Value x = graph.input("x", {DType::float32, {4, kRows}});
    return ops::relu(ops::tanh(x));
  });
}

// A normalisation with what follows it: in one pass where that is a sum and a rectification. Its
// scale is the other node.
TEST(Fuse, WhatFollowsANormalisation) {
  using Follow = std::function<Value(Value, Value)>;
  const Follow follows[] = {
      [](Value y, Value) { return ops::relu(y); },
      [](Value y, Value) { return ops::relu6(y); },
      [](Value y, Value more) { return ops::add(y, more); },
      [](Value y, Value more) { return ops::relu(ops::add(more, y)); },
      [](Value y, Value more) { return ops::relu6(ops::add(y, more)); },
      [](Value y, Value more) { return ops::tanh(ops::add(ops::relu(y), more)); },
      [](Value y, Value) { return ops::relu(ops::add(y, y)); },
      [](Value y, Value more) { return ops::relu(ops::add(ops::add(y, more), more)); },
  };
  for (const int64_t channels : {5, 48, 200}) {
    for (const Extent width : {Extent(1), Extent(channels)}) {  // Of what is added.
      for (const Follow& follow : follows) {
        expect_same_fused(
            [&](Graph& graph) {
              const Value x = graph.input("x", {DType::float32, {kRows, 9, channels}});
              const Value more = graph.input("more", {DType::float32, {kRows, 9, width}});
              const Value known = graph.variable("statistics", {DType::float32, {4, channels}});
              return follow(ops::batch_normalise(x, known, {}, false), more);
            },
            2);
      }
    }
  }
}

}  // namespace
}  // namespace snug
