#include <gtest/gtest.h>

#include "snug/ops/ops.h"
#include "snug/testing/check_op.h"

namespace snug {
namespace {

using testing::check_op;
using testing::Doubles;
using testing::error_of;

Doubles one_hot_of(const Doubles& indices, int64_t classes) {
  Doubles y;
  for (const double index : indices) {
    for (int64_t c = 0; c < classes; ++c) y.push_back(index == static_cast<double>(c));
  }
  return y;
}

TEST(OneHot, SetsTheClass) {
  const std::pair<Shape, Shape> cases[] = {{{}, {3}},
                                           {{4}, {4, 3}},
                                           {{kRows}, {kRows, 3}},
                                           {{kRows, 2}, {kRows, 2, 3}},
                                           {{Extent(2, true)}, {Extent(2, true), 3}},
                                           {{60000}, {60000, 3}}};
  for (const auto& [from, to] : cases) {
    SCOPED_TRACE(from.text());
    // Indices up to 4: some are outside the classes.
    check_op({.inputs = {{DType::int32, from}},
              .build = [](const Values& in) { return ops::one_hot(in[0], 3); },
              .reference = [](const auto& in) { return one_hot_of(in[0], 3); },
              .result = to,
              .integer_bound = 5,
              .has_gradient = false});
  }
}

TEST(OneHot, OfANegativeIndexIsZero) {
  Graph graph;
  const Value x = graph.input("x", {DType::int32, {2}});
  const Value y = ops::one_hot(x, 2);
  const auto result =
      testing::run_graph(graph, {y}, {testing::to_bytes({-1, 1}, DType::int32)}, {});
  EXPECT_EQ(testing::to_doubles(result[0], DType::float32), (Doubles{0, 0, 0, 1}));
}

TEST(OneHot, NamesWhatDoesNotFit) {
  Graph graph;
  const Value x = graph.input("x", {DType::float32, {2}});
  const Value i = graph.input("i", {DType::int32, {2}});
  EXPECT_EQ(error_of([&] { ops::one_hot(x, 3); }),
            "one_hot: the indices are float32[2]; they must be int32: cast them first");
  EXPECT_EQ(error_of([&] { ops::one_hot(i, 0); }), "one_hot: 0 classes; give at least 1");
}

}  // namespace
}  // namespace snug
