#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "snug/ops/metric_sums.h"
#include "snug/testing/check_op.h"

namespace snug {
namespace {

using testing::check_op;
using testing::Doubles;
using testing::error_of;

const std::vector<float> kThresholds = {-1, 0, 0.5f, 0.5f, 1};

// Every random target is positive but a zero, which a random float never is: the first row of the
// result stays empty here.
TEST(ThresholdSums, ByThresholdsBelow) {
  const struct {
    Shape shape;
    std::optional<Shape> weights;
    size_t per_weight = 1;
  } cases[] = {{{kRows, 3}, {}},
               {{kRows}, Shape{kRows}},
               {{kRows, 3}, Shape{kRows}, 3},
               {{12000, 3}, Shape{12000}, 3}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.shape.text() + (c.weights ? " weights " + c.weights->text() : ""));
    Types inputs = {{DType::float32, c.shape}, {DType::float32, c.shape}};
    if (c.weights) inputs.push_back({DType::float32, *c.weights});
    check_op({.inputs = inputs,
              .build =
                  [](const Values& in) {
                    return ops::threshold_sums(in[0], in[1], kThresholds,
                                               in.size() > 2 ? in[2] : Value());
                  },
              .reference =
                  [&](const std::vector<Doubles>& in) {
                    Doubles sums(12);
                    for (size_t i = 0; i < in[0].size(); ++i) {
                      const auto above = std::ranges::count_if(
                          kThresholds, [&](float threshold) { return in[0][i] > threshold; });
                      sums[6 + above] += in.size() > 2 ? in[2][i / c.per_weight] : 1;
                    }
                    return sums;
                  },
              .result = {2, 6},
              .has_gradient = false,
              .may_hide_nan = true});
  }
}

TEST(ThresholdSums, TellsLabelsApartAndIsStrict) {
  Graph graph;
  const Value x = graph.input("x", {DType::float32, {kRows}});
  const Value t = graph.input("t", {DType::float32, {kRows}});
  const Value y = ops::threshold_sums(x, t, {0.5f});
  const auto result =
      testing::run_graph(graph, {y},
                         {testing::to_bytes({0.5, 0.6, 0.7, 0.4, std::nan("")}, DType::float32),
                          testing::to_bytes({1, 0, 1, 0, 1}, DType::float32)},
                         {.rows = 5});
  EXPECT_EQ(testing::to_doubles(result[0], DType::float64), (Doubles{1, 1, 2, 1}));
}

TEST(ThresholdSums, NamesWhatDoesNotFit) {
  Graph graph;
  const Value x = graph.input("x", {DType::float32, {kRows, 3}});
  const Value labels = graph.input("labels", {DType::int32, {kRows}});
  EXPECT_EQ(error_of([&] { ops::threshold_sums(x, labels, {0}); }),
            "threshold_sums: predictions float32[rows, 3] and targets int32[rows] must be float32 "
            "of one shape");
  EXPECT_EQ(error_of([&] {
              ops::threshold_sums(x, x, {1, 0});
            }),
            "threshold_sums: the thresholds are 1, 0; give at least one, in ascending order");
  EXPECT_EQ(error_of([&] { ops::threshold_sums(Value(), x, {0}); }),
            "threshold_sums: the predictions are empty");
}

}  // namespace
}  // namespace snug
