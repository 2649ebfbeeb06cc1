#include "snug/nn/merging.h"

#include "snug/nn/network.h"
#include "snug/testing/layer_call.h"
#include "snug/testing/layer_run.h"

namespace snug::testing {
namespace {

Shape merged(const Layer& layer, const std::vector<Shape>& rows) {
  Symbols in;
  for (const Shape& row : rows) in.push_back(Input(row));
  return layer(in).shape();
}

std::string error_of_merging(const Layer& layer, const std::vector<Shape>& rows) {
  return error_of([&] { merged(layer, rows); });
}

TEST(Merging, Shapes) {
  const Symbol a = Input({5, 4}), b = Input({5, 4});
  EXPECT_EQ(Add()({a, b}).shape(), (Shape{kRows, 5, 4}));
  for (const Layer& layer : {Add(), Subtract(), Multiply(), Average(), Maximum(), Minimum()}) {
    EXPECT_EQ(merged(layer, {{5, 4}, {5, 1}}), (Shape{kRows, 5, 4})) << layer->class_name();
    EXPECT_EQ(merged(layer, {{4}, {5, 4}}), (Shape{kRows, 5, 4})) << layer->class_name();
  }
  EXPECT_EQ(merged(Concatenate(), {{5, 4}, {5, 3}, {5, 1}}), (Shape{kRows, 5, 8}));
  EXPECT_EQ(merged(Concatenate(1), {{5, 4}, {2, 4}}), (Shape{kRows, 7, 4}));
  EXPECT_EQ(merged(Dot(1), {{4}, {4}}), (Shape{kRows, 1}));
  EXPECT_EQ(merged(Dot({1, 2}), {{3, 5}, {10, 3}}), (Shape{kRows, 5, 10}));
  EXPECT_EQ(merged(Dot(1, {.normalize = true}), {{4}, {4, 6, 2}}), (Shape{kRows, 6, 2}));
}

Doubles run_merge(const Layer& layer, const Types& types, const std::vector<Doubles>& in) {
  LayerRun run(layer, types, {.gradients = false});
  run.prepare();
  for (size_t i = 0; i < in.size(); ++i) run.give(run.inputs()[i], in[i]);
  run.run();
  return run.read(run.y);
}

TEST(Merging, Minima) {
  const Types types(2, Type{DType::float32, {1, 3}});
  EXPECT_EQ(run_merge(Minimum(), types, {{1, 5, 3}, {4, 2, 3}}), (Doubles{1, 2, 3}));
}

// By hand: result[i][j] = sum over k of a[k][i] * b[j][k].
TEST(Merging, DotOfMatrices) {
  const Types types = {{DType::float32, {1, 2, 3}}, {DType::float32, {1, 2, 2}}};
  EXPECT_EQ(run_merge(Dot({1, 2}), types, {{1, 2, 3, 4, 5, 6}, {1, 10, 100, 1000}}),
            (Doubles{41, 4100, 52, 5200, 63, 6300}));
}

class MergedMasks : public ::testing::Test {
 protected:
  Value merge(const Layer& layer) {
    return tracer.mask(call_layer(layer.definition(), tracer, {a, b})[0]);
  }
  Doubles run(Value mask) {
    return to_doubles(
        run_graph(graph, {mask},
                  {Bytes(24 * sizeof(float)), Bytes(24 * sizeof(float)),
                   to_bytes({1, 1, 0, 0}, DType::boolean), to_bytes({1, 0, 1, 0}, DType::boolean)},
                  {.rows = 1})[0],
        DType::boolean);
  }

  Graph graph;
  Tracer tracer{graph, /*training=*/false};
  Value a = graph.input("a", {DType::float32, {kRows, 4, 6}});
  Value b = graph.input("b", {DType::float32, {kRows, 4, 6}});
  Value mask_a = graph.input("mask a", {DType::boolean, {kRows, 4}});
  Value mask_b = graph.input("mask b", {DType::boolean, {kRows, 4}});
};

TEST_F(MergedMasks, AnyOfAll) {
  tracer.set_mask(a, mask_a);
  EXPECT_FALSE(merge(Add()));
  EXPECT_FALSE(merge(Concatenate()));
  EXPECT_EQ(run(merge(Concatenate(1))), (Doubles{1, 1, 0, 0, 1, 1, 1, 1}));
  tracer.set_mask(b, mask_b);
  EXPECT_EQ(run(merge(Add())), (Doubles{1, 1, 1, 0}));
  EXPECT_EQ(run(merge(Concatenate())), (Doubles{1, 1, 1, 0}));
  EXPECT_EQ(run(merge(Concatenate(1))), (Doubles{1, 1, 0, 0, 1, 0, 1, 0}));
  EXPECT_FALSE(merge(Dot(2)));
}

// What Keras gives, on TensorFlow.
TEST(Merging, WhatIsMaskedIsLeftOut) {
  const Doubles a{1, -2, 3, 4, 5, -6, 7, 8}, b{2, 3, -4, 5, 6, 7, -8, 9};
  const auto merged = [&](const Layer& layer, bool masks_a, bool masks_b) {
    Graph graph;
    Tracer tracer(graph, /*training=*/false);
    const Type type{DType::float32, {kRows, 4, 2}}, mask{DType::boolean, {kRows, 4}};
    const Value x = graph.input("a", type), y = graph.input("b", type);
    const Value mask_x = graph.input("mask a", mask), mask_y = graph.input("mask b", mask);
    if (masks_a) tracer.set_mask(x, mask_x);
    if (masks_b) tracer.set_mask(y, mask_y);
    const Value out = call_layer(layer.definition(), tracer, {x, y})[0];
    const auto in = {to_bytes(a, DType::float32), to_bytes(b, DType::float32),
                     to_bytes({1, 1, 0, 0}, DType::boolean),
                     to_bytes({1, 0, 1, 0}, DType::boolean)};
    return to_doubles(run_graph(graph, {out}, in, {.rows = 1})[0], DType::float32);
  };
  EXPECT_EQ(merged(Multiply(), true, false), (Doubles{2, -6, -12, 20, 6, 7, -8, 9}));
  EXPECT_EQ(merged(Multiply(), false, true), (Doubles{2, -6, 3, 4, 30, -42, 7, 8}));
  EXPECT_EQ(merged(Multiply(), true, true), (Doubles{2, -6, 3, 4, 6, 7, 0, 0}));
  EXPECT_EQ(merged(Maximum(), true, false), (Doubles{2, 3, 3, 5, 6, 7, -8, 9}));
  EXPECT_EQ(merged(Maximum(), false, true), (Doubles{2, 3, 3, 4, 6, 7, 7, 8}));
  EXPECT_EQ(merged(Maximum(), true, true), (Doubles{2, 3, 3, 4, 6, 7, 7, 8}));
  EXPECT_EQ(merged(Minimum(), true, false), (Doubles{1, -2, -4, 4, 6, 7, -8, 9}));
  EXPECT_EQ(merged(Minimum(), false, true), (Doubles{1, -2, 3, 4, 5, -6, 7, 8}));
  EXPECT_EQ(merged(Minimum(), true, true), (Doubles{1, -2, 3, 4, 6, 7, 7, 8}));
  EXPECT_EQ(merged(Add(), true, true), (Doubles{3, 1, -1, 9, 11, 1, -1, 17}));
}

TEST(Merging, AListOfLayersGivesThemOneValue) {
  for (const Layer& layer :
       {Add(), Subtract(), Multiply(), Average(), Maximum(), Minimum(), Concatenate(), Dot(1)}) {
    const std::string error = error_of([&] { Network::sequential({layer}, "net"); });
    EXPECT_EQ(error.find(layer->label() + ": it merges several values, but in a list of layers"),
              0u)
        << error;
  }
}

TEST(Merging, Messages) {
  EXPECT_EQ(error_of_merging(Add(), {{5, 4}, {5, 3}}),
            "add: the shapes [rows, 5, 4], [rows, 5, 3] do not go together; each axis behind the "
            "rows must be equal or 1");
  EXPECT_EQ(error_of_merging(Subtract(), {{4}, {4}, {4}}),
            "subtract: it takes two inputs, but was called on 3");
  EXPECT_EQ(error_of_merging(Multiply(), {}),
            "multiply: it was called on no inputs; call it on {a, b}");
  EXPECT_EQ(error_of_merging(Concatenate(1), {{5, 4}, {5, 3}}),
            "concatenate: the shapes [rows, 5, 4], [rows, 5, 3] cannot be joined along axis 1; all "
            "other axes must be equal, and axis 0 counts the rows");
  EXPECT_EQ(error_of_merging(Dot(1), {{4}, {5}}),
            "dot: axis 1 of [rows, 4] and axis 1 of [rows, 5] differ; they must be equal");
  EXPECT_EQ(error_of_merging(Dot(1), {{4}}), "dot: it takes two inputs, but was called on 1");
}

}  // namespace
}  // namespace snug::testing
