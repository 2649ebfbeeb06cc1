#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "snug/ops/ops.h"
#include "snug/testing/check_op.h"

namespace snug {
namespace {

using testing::check_op;
using testing::Doubles;
using testing::error_of;

// The k largest of each row of x, or their places.
Doubles largest(const Doubles& x, int64_t columns, int k, bool places) {
  Doubles y;
  for (size_t first = 0; first < x.size(); first += columns) {
    std::vector<int> order(columns);
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](int a, int b) { return x[first + a] > x[first + b]; });
    for (int i = 0; i < k; ++i) y.push_back(places ? order[i] : x[first + order[i]]);
  }
  return y;
}

TEST(TopK, ValuesAndPlaces) {
  const struct {
    Shape shape;
    int k;
  } cases[] = {{{kRows, 7}, 3},    {{kRows, 7}, 7}, {{kRows, 1}, 1},
               {{kRows, 2, 9}, 4}, {{5}, 2},        {{kRows, 7000}, 5}};
  for (const auto& c : cases) {
    Shape result = c.shape;
    result.set(-1, c.k);
    for (const bool places : {false, true}) {
      SCOPED_TRACE(c.shape.text() + " k " + std::to_string(c.k) + (places ? " places" : ""));
      check_op({.inputs = {{DType::float32, c.shape}},
                .build =
                    [&](const Values& in) {
                      const ops::TopK top = ops::top_k(in[0], c.k);
                      return places ? top.indices : top.values;
                    },
                .reference =
                    [&](const std::vector<Doubles>& in) {
                      return largest(in[0], c.shape[-1], c.k, places);
                    },
                .result = result,
                .integer_bound = std::min<int64_t>(4, c.shape[-1]),
                .has_gradient = !places});
    }
  }
}

TEST(TopK, OfEqualsTheFirstAndNanBeforeAll) {
  Graph graph;
  const Value x = graph.input("x", {DType::float32, {5}});
  const ops::TopK top = ops::top_k(x, 4);
  const auto y =
      testing::run_graph(graph, {top.values, top.indices},
                         {testing::to_bytes({2, 7, 2, std::nan(""), 7}, DType::float32)}, {});
  EXPECT_EQ(testing::to_doubles(y[1], DType::int32), (Doubles{3, 1, 4, 0}));
  EXPECT_TRUE(std::isnan(testing::to_doubles(y[0], DType::float32)[0]));
}

TEST(TopK, Contains) {
  const struct {
    Shape leading;
    int64_t classes;
    int k;
  } cases[] = {{{kRows}, 4, 1}, {{kRows}, 9, 2}, {{kRows, 3}, 5, 2}, {{kRows}, 4, 9}, {{}, 5, 1}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.leading.text());
    Shape shape = c.leading;
    shape.push_back(c.classes);
    check_op({.inputs = {{DType::float32, shape}, {DType::int32, c.leading}},
              .build = [&](const Values& in) { return ops::top_k_contains(in[0], in[1], c.k); },
              .reference =
                  [&](const std::vector<Doubles>& in) {
                    Doubles hits;
                    for (size_t r = 0; r < in[1].size(); ++r) {
                      const double* x = &in[0][r * c.classes];
                      const auto larger = std::count_if(x, x + c.classes, [&](double other) {
                        return other > x[static_cast<int>(in[1][r])];
                      });
                      hits.push_back(larger < c.k);
                    }
                    return hits;
                  },
              .result = c.leading,
              .has_gradient = false});
  }
}

TEST(TopK, ContainsCountsTiesAndRefusesWhatIsNotFinite) {
  Graph graph;
  const Value x = graph.input("x", {DType::float32, {kRows, 3}});
  const Value labels = graph.input("labels", {DType::int32, {kRows}});
  const Value hits = ops::top_k_contains(x, labels, 1);
  const auto y = testing::run_graph(
      graph, {hits},
      {testing::to_bytes({1, 1, 1, 1, 2, 1, 1, 2, std::nan(""), 1, 2, 3}, DType::float32),
       testing::to_bytes({2, 0, 1, 3}, DType::int32)},
      {.rows = 4});
  EXPECT_EQ(testing::to_doubles(y[0], DType::boolean), (Doubles{1, 0, 0, 0}));
}

TEST(TopK, Refuses) {
  Graph graph;
  const Value x = graph.input("x", {DType::float32, {kRows, 4}});
  const Value flat = graph.input("flat", {DType::float32, {kRows}});
  const Value labels = graph.input("labels", {DType::int32, {kRows}});
  EXPECT_EQ(error_of([&] { ops::top_k(x, 5); }),
            "top_k: k is 5, but the last axis of [rows, 4] has 4 elements; give 1 to 4");
  EXPECT_EQ(error_of([&] { ops::top_k(flat, 1); }),
            "top_k: expected float32[..., scores], got float32[rows]; it runs along the last axis");
  EXPECT_EQ(error_of([&] { ops::top_k(Value(), 1); }), "top_k: the value is empty");
  EXPECT_EQ(error_of([&] { ops::top_k_contains(x, flat, 1); }),
            "top_k_contains: expected scores float32[..., classes] and labels int32[...], got "
            "float32[rows, 4] and float32[rows]");
  EXPECT_EQ(error_of([&] { ops::top_k_contains(x, labels, 0); }),
            "top_k_contains: k is 0; it must be at least 1");
  EXPECT_EQ(error_of([&] { ops::top_k_contains(x, Value(), 1); }),
            "top_k_contains: the labels are empty");
}

}  // namespace
}  // namespace snug
