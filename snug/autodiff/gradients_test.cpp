#include "snug/autodiff/gradients.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "snug/ops/ops.h"
#include "snug/testing/check_op.h"

namespace snug {
namespace {

using testing::check_op;
using testing::Doubles;
using testing::error_of;

const Type kPair{DType::float32, {2}};
const Type kBatch{DType::float32, {kRows, 2}};
const Type kTable{DType::float32, {4, 2}};

bool is_row_gradient(Value gradient) { return gradient.producer()->op().traits().row_gradient; }

Doubles value_of(const Graph& graph, Value value, const std::vector<Doubles>& inputs,
                 int64_t rows = 2) {
  std::vector<testing::Bytes> bytes;
  const std::vector<int> slots = graph.of_source(Graph::Source::input);
  for (size_t i = 0; i < slots.size(); ++i)
    bytes.push_back(testing::to_bytes(inputs[i], graph.type(slots[i]).dtype));
  return testing::to_doubles(testing::run_graph(graph, {value}, bytes, {.rows = rows})[0],
                             value.dtype());
}

TEST(Gradients, OfSharedSubexpressionsAddUp) {
  Graph graph;
  const Value x = graph.input("x", kPair);
  const Value square = ops::multiply(x, x);                                 // x^2
  const Value y = ops::add(ops::multiply(square, x), ops::add(square, x));  // x^3 + x^2 + x
  EXPECT_EQ(value_of(graph, gradients(ops::sum(y), {x})[0], {{2, -1}}), (Doubles{17, 2}));
}

TEST(Gradients, OfTheLossItselfAreOnes) {
  Graph graph;
  const Value x = graph.input("x", kBatch);
  EXPECT_EQ(value_of(graph, gradients(x, {x})[0], {{5, 6, 7, 8}}), Doubles(4, 1));
}

TEST(Gradients, OfWhatTheLossDoesNotReadAreEmpty) {
  Graph graph;
  const Value x = graph.input("x", kPair), unused = graph.input("unused", kPair);
  const Value aside = ops::multiply(x, unused);
  const Values found = gradients(ops::sum(x), {unused, x, aside});
  EXPECT_FALSE(found[0]);
  EXPECT_TRUE(found[1]);
  EXPECT_FALSE(found[2]);
}

TEST(Gradients, OfAValueInTheMiddle) {
  Graph graph;
  const Value x = graph.input("x", kPair);
  const Value middle = ops::multiply(x, x);
  const Values found = gradients(ops::sum(ops::multiply(middle, middle)), {middle, x});
  EXPECT_EQ(value_of(graph, found[0], {{2, 3}}), (Doubles{8, 18}));
  EXPECT_EQ(value_of(graph, found[1], {{2, 3}}), (Doubles{32, 108}));
}

TEST(Gradients, OfALossWithElementsAreThoseOfItsSum) {
  for (const Type& type : {kPair, kBatch}) {
    SCOPED_TRACE(type.text());
    Graph graph;
    const Value x = graph.input("x", type);
    const Value y = ops::multiply(x, ops::multiply(x, x));
    const Values of_elements = gradients(y, {x}), of_sum = gradients(ops::sum(y), {x});
    Doubles in(type.at(2).shape.size());
    for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<double>(i) + 1;
    Doubles expected = in;
    for (double& element : expected) element *= 3 * element;
    EXPECT_EQ(value_of(graph, of_elements[0], {in}), expected);
    EXPECT_EQ(value_of(graph, of_sum[0], {in}), expected);
  }
}

TEST(Gradients, FromAGivenGradient) {
  Graph graph;
  const Value x = graph.input("x", kPair), dy = graph.input("dy", kPair);
  const Value y = ops::multiply(x, x);
  EXPECT_EQ(value_of(graph, gradients(y, dy, {x})[0], {{2, 3}, {10, 100}}), (Doubles{40, 600}));
}

TEST(Gradients, StopAtIntegers) {
  Graph graph;
  const Value x = graph.input("x", kPair), table = graph.input("table", kTable);
  const Value whole = ops::cast(x, DType::int32);
  const Value through = ops::cast(whole, DType::float32);
  EXPECT_FALSE(gradients(ops::sum(through), {x})[0]);
  EXPECT_FALSE(gradients(ops::sum(ops::embedding(table, whole)), {x})[0]);
  EXPECT_FALSE(gradients(ops::sum(ops::cast(ops::greater(x, x), DType::float32)), {x})[0]);
  // The path beside the integers still counts.
  const Value both = ops::multiply(x, through);
  EXPECT_EQ(value_of(graph, gradients(ops::sum(both), {x})[0], {{2.5, 3.5}, Doubles(8)}),
            (Doubles{2, 3}));
}

TEST(Gradients, OfATableReadOnceStayRows) {
  Graph graph;
  const Value table = graph.variable("table", kTable);
  const Value indices = graph.input("indices", {DType::int32, {kRows, 3}});
  const Value sums = gradients(ops::sum(ops::embedding(table, indices)), {table})[0];
  ASSERT_TRUE(is_row_gradient(sums));
  EXPECT_EQ(sums.shape(), (Shape{Extent(3, true), 2}));
}

TEST(Gradients, OfATableReadTwiceAreDense) {
  Graph graph;
  const Value table = graph.variable("table", kTable);
  const Value indices = graph.input("indices", {DType::int32, {kRows}});
  const Value first = ops::embedding(table, indices), second = ops::embedding(table, indices);
  const Value twice = gradients(ops::sum(ops::multiply(first, second)), {table})[0];
  EXPECT_FALSE(is_row_gradient(twice));
  EXPECT_EQ(twice.type(), kTable);
  const Value decayed = ops::add(ops::sum(first), ops::sum(ops::multiply(table, table)));
  const Value with_decay = gradients(decayed, {table})[0];
  EXPECT_FALSE(is_row_gradient(with_decay));
  EXPECT_EQ(with_decay.type(), kTable);
}

TEST(Gradients, OfRowsReachWhatTheTableIsMadeFrom) {
  const auto gather_twice = [](const std::vector<Doubles>& in) {
    Doubles y;
    for (const double index : in[1]) {
      for (int column = 0; column < 2; ++column) {
        const double entry = in[0][static_cast<size_t>(index) * 2 + column];
        y.push_back(std::tanh(entry) * entry);
      }
    }
    return y;
  };
  check_op({.inputs = {kTable, {DType::int32, {kRows}}},
            .build =
                [](const Values& in) {
                  return ops::multiply(ops::embedding(ops::tanh(in[0]), in[1]),
                                       ops::embedding(in[0], in[1]));
                },
            .reference = gather_twice,
            .result = {kRows, 2},
            .may_hide_nan = true});
}

TEST(Gradients, AreNamedAfterTheirLayer) {
  Graph graph;
  const Value x = graph.input("x", kPair);
  Value y;
  {
    const Graph::Scope scope(graph, "dense");
    y = ops::tanh(x);
  }
  const Value dx = gradients(y, graph.input("dy", kPair), {x})[0];
  EXPECT_EQ(dx.producer()->scope(), "gradient/dense");
  EXPECT_EQ(graph.scope(), "");
}

TEST(Gradients, PassCommitsBy) {
  Graph graph;
  const Value x = graph.input("x", kPair), state = graph.variable("state", kPair);
  const Value y = ops::multiply(x, x);
  ops::assign(state, y);
  EXPECT_TRUE(gradients(ops::sum(y), {x})[0]);
}

TEST(Gradients, NameWhatDoesNotFit) {
  Graph graph;
  const Value x = graph.input("x", kPair), i = graph.input("i", {DType::int32, {2}});
  EXPECT_EQ(error_of([&] { gradients(i, {x}); }),
            "gradients: the loss is int32[2]; it must be a float");
  EXPECT_EQ(error_of([&] { gradients(x, i, {x}); }),
            "gradients: the value is float32[2], its gradient int32[2]");
}

// Random graphs of smooth functions on matrices of rows, as a list of steps that both a graph and
// an interpreter in double precision follow.
class RandomGraph {
 public:
  // The leaves: two batches, a bias for each width, a weight for each pair of widths.
  static inline const std::vector<Shape> kLeaves = {{kRows, 2}, {kRows, 3}, {2},    {3},
                                                    {2, 2},     {2, 3},     {3, 2}, {3, 3}};

  explicit RandomGraph(uint64_t seed) : random_(seed), width_({2, 3}) {
    const int steps = 3 + draw(10);
    for (int i = 0; i < steps; ++i) add_step();
  }

  int64_t result_width() const { return width_.back(); }

  Value build(const Values& leaves) const {
    Values batches = {leaves[0], leaves[1]};
    for (const Step& step : steps_) {
      const Value a = batches[step.a];
      batches.push_back(step.kind < kUnaryCount ? kUnary[step.kind].build(a)
                        : step.kind < kBias
                            ? kBinary[step.kind - kUnaryCount].build(a, batches[step.b])
                        : step.kind == kBias ? ops::add(a, leaves[step.b])
                                             : ops::matmul(a, leaves[step.b]));
    }
    return batches.back();
  }

  Doubles interpret(const std::vector<Doubles>& leaves) const {
    std::vector<Doubles> batches = {leaves[0], leaves[1]};
    for (size_t i = 0; i < steps_.size(); ++i) {
      const Step& step = steps_[i];
      const Doubles& a = batches[step.a];
      const int64_t from = width_[step.a], to = width_[i + 2];
      Doubles y(a.size() / from * to);
      for (size_t e = 0; e < y.size(); ++e) {
        const size_t row = e / to, column = e % to;
        if (step.kind < kUnaryCount) {
          y[e] = kUnary[step.kind].reference(a[e]);
        } else if (step.kind < kBias) {
          y[e] = kBinary[step.kind - kUnaryCount].reference(a[e], batches[step.b][e]);
        } else if (step.kind == kBias) {
          y[e] = a[e] + leaves[step.b][column];
        } else {
          for (int64_t k = 0; k < from; ++k)
            y[e] += a[row * from + k] * leaves[step.b][k * to + column];
        }
      }
      batches.push_back(std::move(y));
    }
    return batches.back();
  }

 private:
  struct Unary {
    Value (*build)(Value);
    double (*reference)(double);
  };
  static inline const Unary kUnary[] = {
      {ops::tanh, [](double x) { return std::tanh(x); }},
      {ops::sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }},
      {ops::sin, [](double x) { return std::sin(x); }},
      {ops::softplus, [](double x) { return std::log1p(std::exp(x)); }},
      {ops::negate, [](double x) { return -x; }},
  };
  struct Binary {
    Value (*build)(Value, Value);
    double (*reference)(double, double);
  };
  static inline const Binary kBinary[] = {
      {ops::add, [](double a, double b) { return a + b; }},
      {ops::subtract, [](double a, double b) { return a - b; }},
      {ops::multiply, [](double a, double b) { return a * b; }},
      {ops::squared_difference, [](double a, double b) { return (a - b) * (a - b); }},
  };
  static constexpr int kUnaryCount = 5, kBias = kUnaryCount + 4, kMatmul = kBias + 1;

  struct Step {
    int kind = 0;
    int a = 0, b = 0;  // Batches; for a bias or a weight, b is a leaf.
  };

  int draw(int below) { return std::uniform_int_distribution(0, below - 1)(random_); }

  void add_step() {
    Step step{.kind = draw(kMatmul + 1), .a = draw(static_cast<int>(width_.size()))};
    int64_t width = width_[step.a];
    if (step.kind >= kUnaryCount && step.kind < kBias) {
      do step.b = draw(static_cast<int>(width_.size()));
      while (width_[step.b] != width);
    } else if (step.kind == kBias) {
      step.b = static_cast<int>(width);
    } else if (step.kind == kMatmul) {
      const int64_t to = 2 + draw(2);
      step.b = static_cast<int>(4 + (width - 2) * 2 + (to - 2));
      width = to;
    }
    steps_.push_back(step);
    width_.push_back(width);
  }

  std::mt19937_64 random_;
  std::vector<Step> steps_;
  std::vector<int64_t> width_;  // Of each batch: the leaves, then the steps' results.
};

TEST(Gradients, OfRandomGraphsMatchCentralDifferences) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const RandomGraph recipe(seed);
    Types types;
    for (const Shape& shape : RandomGraph::kLeaves) types.push_back({DType::float32, shape});
    check_op({.inputs = types,
              .build = [&](const Values& in) { return recipe.build(in); },
              .reference = [&](const auto& in) { return recipe.interpret(in); },
              .result = {kRows, recipe.result_width()},
              .low = -1,
              .high = 1,
              .tolerance = 1e-5,
              .may_hide_nan = true,
              .seed = seed});
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace snug
