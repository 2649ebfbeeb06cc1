#include <gtest/gtest.h>

#include <numeric>

#include "snug/ops/metric_sums.h"
#include "snug/testing/check_op.h"

namespace snug {
namespace {

using testing::check_op;
using testing::Doubles;
using testing::error_of;

TEST(WeightedSums, OfValuesAndWeights) {
  const struct {
    Shape values;
    std::optional<Shape> weights;
    size_t per_weight = 1;
  } cases[] = {{{kRows}, {}},
               {{kRows}, Shape{kRows}},
               {{kRows, 4}, {}},
               {{kRows, 4}, Shape{kRows}, 4},
               {{kRows, 4, 3}, Shape{kRows, 4}, 3},
               {{}, Shape{}},
               {{9000, 5}, Shape{9000}, 5}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.values.text() + (c.weights ? " weights " + c.weights->text() : ""));
    Types inputs = {{DType::float32, c.values}};
    if (c.weights) inputs.push_back({DType::float32, *c.weights});
    check_op({.inputs = inputs,
              .build =
                  [](const Values& in) {
                    return ops::weighted_sums(in[0], in.size() > 1 ? in[1] : Value());
                  },
              .reference = [&](const std::vector<Doubles>& in) -> Doubles {
                if (in.size() == 1) {
                  return {std::accumulate(in[0].begin(), in[0].end(), 0.0),
                          static_cast<double>(in[0].size())};
                }
                double total = 0;
                for (size_t i = 0; i < in[0].size(); ++i)
                  total += in[0][i] * in[1][i / c.per_weight] / double(c.per_weight);
                return {total, std::accumulate(in[1].begin(), in[1].end(), 0.0)};
              },
              .result = {2},
              .has_gradient = false});
  }
}

TEST(WeightedSums, NamesWhatDoesNotFit) {
  Graph graph;
  const Value x = graph.input("x", {DType::float32, {kRows, 3}});
  const Value one = graph.input("one", {DType::float32, {}});
  const Value labels = graph.input("labels", {DType::int32, {kRows}});
  EXPECT_EQ(error_of([&] { ops::weighted_sums(labels); }),
            "weighted_sums: the values are int32[rows]; cast them to float32 first");
  EXPECT_EQ(error_of([&] { ops::weighted_sums(x, labels); }),
            "weighted_sums: weights int32[rows] do not go with [rows, 3]; give float32 of that "
            "shape or its first axes");
  EXPECT_EQ(error_of([&] { ops::weighted_sums(x, one); }),
            "weighted_sums: weights float32[] do not go with [rows, 3]; give float32 of that shape "
            "or its first axes");
  EXPECT_EQ(error_of([&] { ops::weighted_sums(Value()); }), "weighted_sums: the values are empty");
}

}  // namespace
}  // namespace snug
