#include "snug/nn/symbol_ops.h"

#include <cmath>
#include <functional>

#include "snug/nn/operation.h"
#include "snug/nn/operators.h"
#include "snug/testing/layer_call.h"

namespace snug::testing {
namespace {

using ops::kAll, ops::kEllipsis, ops::kNewAxis, ops::range;

const Shape kRow = {2, 3};

// What it gives for two rows of 0.5, 1.0, 1.5, ..., 6.0.
Doubles results_on(const std::function<Symbol(const Symbol&)>& expression) {
  const Symbol x = Input(kRow, {.name = "x"});
  const auto network = Network::functional({x}, {expression(x)}, "expression");
  EXPECT_EQ(network->layers().size(), 1u);  // The input alone.
  Graph graph;
  Tracer tracer(graph, /*training=*/false);
  const Value result =
      network->call(tracer, {graph.input("x", {DType::float32, {kRows, 2, 3}})})[0];
  Doubles numbers;
  for (int i = 1; i <= 12; ++i) numbers.push_back(i * 0.5);
  return to_doubles(run_graph(graph, {result}, {to_bytes(numbers, DType::float32)}, {.rows = 2})[0],
                    DType::float32);
}

void expect_near(const Doubles& actual, const Doubles& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-5) << i;
}

Shape shape_on(const std::function<Symbol(const Symbol&)>& expression) {
  return expression(Input(kRow)).shape();
}

TEST(SymbolOps, ElementByElement) {
  const auto expect = [](Symbol (*op)(const Symbol&), double (*same)(double)) {
    Doubles expected;
    for (int i = 1; i <= 12; ++i) expected.push_back(same(i * 0.5));
    expect_near(results_on(op), expected);
  };
  expect(ops::exp, [](double x) { return std::exp(x); });
  expect(ops::log, [](double x) { return std::log(x); });
  expect(ops::sqrt, [](double x) { return std::sqrt(x); });
  expect(ops::square, [](double x) { return x * x; });
  expect(ops::tanh, [](double x) { return std::tanh(x); });
  expect(ops::sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); });
  expect([](const Symbol& x) { return ops::abs(-x); }, [](double x) { return x; });
  expect([](const Symbol& x) { return ops::relu(3 - x); },
         [](double x) { return std::max(0.0, 3 - x); });
  expect([](const Symbol& x) { return ops::clip(x, 1, 4); },
         [](double x) { return std::clamp(x, 1.0, 4.0); });
  expect([](const Symbol& x) { return ops::power(x, 3); }, [](double x) { return x * x * x; });
  expect([](const Symbol& x) { return ops::power(2, x); }, [](double x) { return std::exp2(x); });
  expect([](const Symbol& x) { return ops::power(x, 2) - ops::power(x, x - x + 2); },
         [](double) { return 0.0; });
  expect([](const Symbol& x) { return ops::maximum(ops::minimum(x, 3), 4 - x); },
         [](double x) { return std::max(std::min(x, 3.0), 4 - x); });
}

TEST(SymbolOps, OverAxes) {
  expect_near(results_on([](const Symbol& x) { return ops::sum(x, {.axes = {-1}}); }),
              {3, 7.5, 12, 16.5});
  expect_near(results_on([](const Symbol& x) {
                return ops::mean(x, {.axes = {1, 2}, .keepdims = true});
              }),
              {1.75, 4.75});
  expect_near(results_on([](const Symbol& x) { return ops::max(x, {.axes = {1}}); }),
              {2, 2.5, 3, 5, 5.5, 6});
  expect_near(results_on([](const Symbol& x) { return ops::min(x, {.axes = {1}}); }),
              {0.5, 1, 1.5, 3.5, 4, 4.5});
  const Doubles shares = results_on([](const Symbol& x) { return ops::softmax(x, 1); });
  expect_near({shares[0] + shares[3], shares[0] / shares[3]}, {1, std::exp(-1.5)});
}

TEST(SymbolOps, Items) {
  const auto items = [](const std::vector<ops::Index>& key) {
    return results_on([&](const Symbol& x) { return ops::get_item(x, key); });
  };
  expect_near(items({kAll, 0}), {0.5, 1, 1.5, 3.5, 4, 4.5});
  expect_near(items({kAll, -1, range(1)}), {2.5, 3, 5.5, 6});
  expect_near(items({kEllipsis, 1}), {1, 2.5, 4, 5.5});
  expect_near(items({kAll, kAll, range({}, {}, 2)}), {0.5, 1.5, 2, 3, 3.5, 4.5, 5, 6});
  expect_near(items({kAll, 1, range({}, {}, -1)}), {3, 2.5, 2, 6, 5.5, 5});
  expect_near(items({kAll, 0, range({}, {}, -2)}), {1.5, 0.5, 4.5, 3.5});
  expect_near(items({kAll, 1, range(-2, 100)}), {2.5, 3, 5.5, 6});
  expect_near(items({kAll, 0, range(2, 0, -2)}), {1.5, 4.5});
  const auto shape = [](const std::vector<ops::Index>& key) {
    return shape_on([&](const Symbol& x) { return ops::get_item(x, key); });
  };
  EXPECT_EQ(shape({kAll, kNewAxis, range(0, 1)}), (Shape{kRows, 1, 1, 3}));
  EXPECT_EQ(shape({kAll, kEllipsis, kNewAxis}), (Shape{kRows, 2, 3, 1}));
  EXPECT_THROW(ops::get_item(Input({0}), {kAll, range({}, {}, -1)}), ShapeError);
}

TEST(SymbolOps, Shapes) {
  const auto expect = [](const std::function<Symbol(const Symbol&)>& expression,
                         const Shape& shape) { EXPECT_EQ(shape_on(expression), shape); };
  expect([](const Symbol& x) { return ops::reshape(x, {kRows, 6}); }, {kRows, 6});
  expect([](const Symbol& x) { return ops::reshape(x, {kRows, 3, -1}); }, {kRows, 3, 2});
  expect([](const Symbol& x) { return ops::transpose(x, {0, 2, 1}); }, {kRows, 3, 2});
  expect([](const Symbol& x) { return ops::expand_dims(x, -1); }, {kRows, 2, 3, 1});
  expect([](const Symbol& x) { return ops::squeeze(ops::expand_dims(x, 1)); }, {kRows, 2, 3});
  expect([](const Symbol& x) { return ops::squeeze(ops::expand_dims(x, 1), 1); }, {kRows, 2, 3});
  expect([](const Symbol& x) { return ops::concat({x, x, x}, 1); }, {kRows, 6, 3});
  expect(
      [](const Symbol& x) {
        return ops::matmul(x, ops::transpose(x, {0, 2, 1}));
      },
      {kRows, 2, 2});
  const Symbol ids = Input({4}, {.dtype = DType::int32});
  EXPECT_EQ(ops::get_item(ids, {kAll, range(0, 2)}).type(), (Type{DType::int32, {kRows, 2}}));
}

// Rows stand each for itself: what would mix or number them is refused.
TEST(SymbolOps, LeaveRowsAlone) {
  const Symbol x = Input(kRow);
  const std::vector<std::function<void()>> mixing = {
      [&] { ops::sum(x, {}); },
      [&] { ops::mean(x, {.axes = {0}}); },
      [&] { ops::max(x, {.axes = {-3}}); },
      [&] { ops::softmax(x, 0); },
      [&] {
        ops::transpose(x, {1, 0, 2});
      },
      [&] {
        ops::concat({x, x}, 0);
      },
      [&] { ops::expand_dims(x, 0); },
      [&] { ops::get_item(x, {0}); },
      [&] {
        ops::get_item(x, {kNewAxis, range(1, 2)});
      },
  };
  for (const auto& action : mixing) expect_contains(error_of(action), "the rows of ");
  expect_contains(error_of([&] { ops::reshape(x, {kRows, 5}); }), "has 6 elements");
  expect_contains(error_of([&] { ops::reshape(x, {12}); }), "has 6 elements");
}

TEST(SymbolOps, Messages) {
  const Symbol x = Input(kRow);
  EXPECT_EQ(error_of([&] {
              ops::get_item(x, {kAll, 2});
            }),
            "get_item: [rows, 2, 3] has no element 2 along an axis of 2");
  EXPECT_EQ(error_of([&] {
              ops::get_item(x, {kAll, range(2)});
            }),
            "get_item: nothing would be left of [rows, 2, 3] along an axis of 2");
  expect_contains(error_of([&] { ops::get_item(x, {kAll, 0, 0, 0}); }), "4 were indexed");
  expect_contains(error_of([&] { ops::get_item(x, {kEllipsis, kEllipsis}); }), "2 ellipses");
  expect_contains(error_of([&] { ops::get_item(x, {kAll, range(0, 1, 0)}); }), "a step is 0");
  expect_contains(error_of([&] { ops::squeeze(x, 1); }), "is not 1");
  expect_contains(error_of([] { Operation("Einsum"); }), "no operation \"Einsum\"");
}

// Inside a trace the same words are for values.
TEST(SymbolOps, OnValuesToo) {
  Graph graph;
  const Value x = graph.input("x", {DType::float32, {kRows, 3}});
  const Values same = {ops::power(x, 2), ops::maximum(x, 2), ops::get_item(x, {kAll, 1}),
                       ops::expand_dims(x, 1), ops::squeeze(ops::expand_dims(x, 1))};
  const std::vector<Bytes> results =
      run_graph(graph, same, {to_bytes({1, 2, 3}, DType::float32)}, {.rows = 1});
  const std::vector<Doubles> expected = {{1, 4, 9}, {2, 2, 3}, {2}, {1, 2, 3}, {1, 2, 3}};
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(to_doubles(results[i], DType::float32), expected[i]);
}

}  // namespace
}  // namespace snug::testing
