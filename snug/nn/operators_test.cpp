#include "snug/nn/operators.h"

#include "snug/nn/operation.h"
#include "snug/testing/layer_call.h"

namespace snug::testing {
namespace {

struct Traced {
  Graph graph;
  Tracer tracer{graph, /*training=*/false};
};

TEST(Operators, OnSymbols) {
  const Symbol x = Input({2}, {.name = "x"}), y = Input({2}, {.name = "y"});
  const Symbol z = -((1 - x) * 3 / y + x - y * 2 + 5.0 / x + 1);
  const auto network = Network::functional({x, y}, {z}, "arithmetic");
  EXPECT_EQ(network->layers().size(), 2u);  // The inputs alone.

  Traced traced;
  const Value a = traced.graph.input("x", {DType::float32, {kRows, 2}});
  const Value b = traced.graph.input("y", {DType::float32, {kRows, 2}});
  const Value result = network->call(traced.tracer, {a, b})[0];
  const Value same = -((1 - a) * 3 / b + a - b * 2 + 5.0 / a + 1);
  const std::vector<Bytes> results =
      run_graph(traced.graph, {result, same},
                {to_bytes({2, 4}, DType::float32), to_bytes({3, 8}, DType::float32)}, {.rows = 1});
  const Doubles expected = {-(-1 + 2 - 6 + 2.5 + 1), -(-9.0 / 8 + 4 - 16 + 1.25 + 1)};
  for (const Bytes& bytes : results) {
    const Doubles actual = to_doubles(bytes, DType::float32);
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-6);
  }
}

TEST(Operators, RememberTheirNumbers) {
  const Symbol x = Input({2});
  const auto of = [](const Symbol& symbol) {
    return std::dynamic_pointer_cast<Operation>(symbol.node()->layer);
  };
  EXPECT_EQ(of(x + 2)->class_name(), "Add");
  EXPECT_EQ(of(x + 2)->arguments().number, 2);
  EXPECT_FALSE(of(x / 2)->arguments().number_first);
  EXPECT_TRUE(of(2 / x)->arguments().number_first);
  EXPECT_EQ(of(2 / x)->class_name(), "TrueDivide");
  EXPECT_EQ(of(-x)->class_name(), "Negative");
  EXPECT_FALSE(of(x * x)->arguments().number);
}

TEST(Operators, Messages) {
  const Symbol x = Input({2}), y = Input({3});
  expect_contains(error_of([&] { x + y; }), "add: ");
  EXPECT_EQ(error_of([] { Operation("Substract"); }),
            "there is no operation \"Substract\"; did you mean \"Subtract\"?");
  EXPECT_EQ(error_of([&] { make_layer<Operation>("Add")({x}); }), "add: it takes 2 values, got 1");
}

}  // namespace
}  // namespace snug::testing
