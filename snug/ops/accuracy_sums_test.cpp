#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "snug/ops/metric_sums.h"
#include "snug/testing/check_op.h"

namespace snug {
namespace {

using ops::Hit;
using testing::check_op;
using testing::Doubles;
using testing::error_of;

int64_t place_of_largest(const double* x, int64_t columns) {
  return std::max_element(x, x + columns) - x;
}

// The share of hits in each stretch of `columns`, times its weight; and the weights.
Doubles sums_of(const std::vector<Doubles>& in, int64_t columns, Hit hit, size_t per_weight) {
  Doubles sums(2);
  const Doubles* weights = in.size() > 2 ? &in.back() : nullptr;
  for (size_t cell = 0; cell < in[0].size() / columns; ++cell) {
    const double* x = &in[0][cell * columns];
    double share = 0;
    if (hit == Hit::sparse) share = place_of_largest(x, columns) == in[1][cell];
    if (hit == Hit::categorical)
      share = place_of_largest(x, columns) == place_of_largest(&in[1][cell * columns], columns);
    for (int64_t j = 0; hit == Hit::binary && j < columns; ++j)
      share += ((x[j] > 0.25) == in[1][cell * columns + j]) / static_cast<double>(columns);
    const double weight =
        weights ? (*weights)[cell / per_weight] / static_cast<double>(per_weight) : 1;
    sums[0] += weight * share;
    sums[1] += weight;
  }
  return sums;
}

struct Case {
  Shape predictions;
  Hit hit;
  std::optional<Shape> weights;
  size_t per_weight = 1;
};

TEST(AccuracySums, CountsHits) {
  const Case cases[] = {
      {{kRows, 3}, Hit::sparse, {}},
      {{kRows, 3}, Hit::sparse, Shape{kRows}},
      {{kRows, 2, 3}, Hit::sparse, Shape{kRows}, 2},
      {{kRows, 2, 3}, Hit::sparse, Shape{kRows, 2}},
      {{400, 3}, Hit::sparse, {}},
      {{kRows, 4}, Hit::categorical, {}},
      {{kRows, 300, 40}, Hit::categorical, Shape{kRows}, 300},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.predictions.text() + (c.weights ? " weights " + c.weights->text() : ""));
    const bool sparse = c.hit == Hit::sparse;
    Types inputs = {{DType::float32, c.predictions},
                    {sparse ? DType::int32 : DType::float32,
                     sparse ? c.predictions.without(-1) : c.predictions}};
    if (c.weights) inputs.push_back({DType::float32, *c.weights});
    check_op(
        {.inputs = inputs,
         .build =
             [&](const Values& in) {
               return ops::accuracy_sums(in[0], in[1], in.size() > 2 ? in[2] : Value(),
                                         {.hit = c.hit});
             },
         .reference =
             [&](const auto& in) { return sums_of(in, c.predictions[-1], c.hit, c.per_weight); },
         .result = {2},
         .has_gradient = false,
         .may_hide_nan = true});
  }
}

// Random floats never are exactly 0 or 1, so the targets come from bools.
TEST(AccuracySums, CountsBinaryHits) {
  for (const Shape& shape :
       {Shape{kRows, 1}, Shape{kRows, 3}, Shape{kRows, 2, 3}, Shape{70000, 1}}) {
    SCOPED_TRACE(shape.text());
    Graph graph;
    const Value x = graph.input("x", {DType::float32, shape.at(6)});
    const Value t = graph.input("t", {DType::float32, shape.at(6)});
    const Value y = ops::accuracy_sums(x, t, {}, {.threshold = 0.25f});
    Doubles predictions(shape.at(6).size()), targets(predictions.size());
    for (size_t i = 0; i < targets.size(); ++i) {
      predictions[i] = static_cast<double>(i % 5) / 4;  // 0.25 itself is not above.
      targets[i] = static_cast<double>(i / 3 % 2);
    }
    const auto result = testing::run_graph(graph, {y},
                                           {testing::to_bytes(predictions, DType::float32),
                                            testing::to_bytes(targets, DType::float32)},
                                           {.threads = 2});
    const Doubles found = testing::to_doubles(result[0], DType::float64);
    const Doubles wanted = sums_of({predictions, targets}, shape[-1], Hit::binary, 1);
    EXPECT_NEAR(found[0], wanted[0], 1e-6 * wanted[0]);
    EXPECT_EQ(found[1], wanted[1]);
  }
}

TEST(AccuracySums, OfEqualsTheFirstAndNanHitsNothing) {
  Graph graph;
  const Value x = graph.input("x", {DType::float32, {kRows, 3}});
  const Value labels = graph.input("labels", {DType::int32, {kRows}});
  const Value y = ops::accuracy_sums(x, labels, {}, {.hit = Hit::sparse});
  const double nan = std::nan("");
  const auto result = testing::run_graph(
      graph, {y},
      {testing::to_bytes({1, 2, 2, 1, 2, 2, nan, 1, 2, nan, nan, nan, 1, 2, 3, 1, 2, 3},
                         DType::float32),
       testing::to_bytes({1, 2, 2, 0, 3, -1}, DType::int32)},
      {.rows = 6});
  EXPECT_EQ(testing::to_doubles(result[0], DType::float64), (Doubles{1, 6}));
}

TEST(AccuracySums, NamesWhatDoesNotFit) {
  Graph graph;
  const Value x = graph.input("x", {DType::float32, {kRows, 3}});
  const Value labels = graph.input("labels", {DType::int32, {kRows}});
  const Value weights = graph.input("weights", {DType::float32, {kRows, 3}});
  EXPECT_EQ(error_of([&] { ops::accuracy_sums(x, labels); }),
            "accuracy_sums: predictions float32[rows, 3] want targets float32[rows, 3], got "
            "int32[rows]");
  EXPECT_EQ(error_of([&] { ops::accuracy_sums(labels, labels); }),
            "accuracy_sums: expected predictions float32[..., classes], got int32[rows]");
  EXPECT_EQ(error_of([&] { ops::accuracy_sums(x, labels, weights, {.hit = Hit::sparse}); }),
            "accuracy_sums: weights float32[rows, 3] do not go with [rows]; give float32 of that "
            "shape or its first axes");
  EXPECT_EQ(error_of([&] { ops::accuracy_sums(x, Value()); }),
            "accuracy_sums: the targets are empty");
}

}  // namespace
}  // namespace snug
