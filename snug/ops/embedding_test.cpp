#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "snug/autodiff/gradients.h"
#include "snug/ops/ops.h"
#include "snug/testing/check_op.h"

namespace snug {
namespace {

using testing::check_op;
using testing::Doubles;
using testing::error_of;

Doubles gathered(const std::vector<Doubles>& in, int64_t dim) {
  Doubles y;
  for (const double index : in[1]) {
    const auto row = in[0].begin() + static_cast<int64_t>(index) * dim;
    y.insert(y.end(), row, row + dim);
  }
  return y;
}

TEST(Embedding, GathersRows) {
  const std::pair<Shape, Shape> cases[] = {{{}, {3}},
                                           {{7}, {7, 3}},
                                           {{kRows}, {kRows, 3}},
                                           {{kRows, 4}, {kRows, 4, 3}},
                                           {{Extent(2, true), 2}, {Extent(2, true), 2, 3}},
                                           {{30000}, {30000, 3}}};
  for (const auto& [indices, y] : cases) {
    SCOPED_TRACE(indices.text());
    check_op({.inputs = {{DType::float32, {4, 3}}, {DType::int32, indices}},
              .build = [](const Values& in) { return ops::embedding(in[0], in[1]); },
              .reference = [](const auto& in) { return gathered(in, 3); },
              .result = y,
              .may_hide_nan = true});
  }
}

struct RowGradient {
  Graph graph;
  Value dy, sums;

  RowGradient(int64_t entries, int64_t dim, const Shape& indices) {
    const Value table = graph.variable("table", {DType::float32, {entries, dim}});
    const Value index = graph.input("indices", {DType::int32, indices});
    const Value y = ops::embedding(table, index);
    dy = graph.input("dy", y.type());
    sums = gradients(y, dy, {table})[0];
  }

  // The sum of each row that was touched.
  std::map<int, Doubles> run(const Doubles& indices, const Doubles& upstream,
                             const testing::RunOptions& options = {}) {
    const Node& node = *sums.producer();
    const auto bytes = testing::run_graph(
        graph, {node.output(0), node.output(1), node.output(2)},
        {testing::to_bytes(indices, DType::int32), testing::to_bytes(upstream, DType::float32)},
        options);
    const Doubles rows = testing::to_doubles(bytes[0], DType::float32);
    const Doubles distinct = testing::to_doubles(bytes[1], DType::int32);
    const auto count = static_cast<int64_t>(testing::to_doubles(bytes[2], DType::int32)[0]);
    const int64_t dim = node.output(0).shape()[1];
    std::map<int, Doubles> result;
    for (int64_t i = 0; i < count; ++i) {
      const auto row = rows.begin() + i * dim;
      EXPECT_TRUE(result.emplace(distinct[i], Doubles(row, row + dim)).second)
          << distinct[i] << " appears twice";
    }
    return result;
  }
};

TEST(Embedding, GradientIsTheDistinctRowsWithTheirSums) {
  RowGradient gradient(100, 2, {kRows, 2});
  EXPECT_EQ(gradient.sums.shape(), (Shape{Extent(2, true), 2}));
  EXPECT_TRUE(gradient.sums.producer()->op().traits().row_gradient);
  EXPECT_EQ(gradient.sums.producer()->rows(), Rows::coupled);
  const Doubles indices = {7, 3, 7, 99, 3, 7};
  const Doubles upstream = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  const std::map<int, Doubles> expected = {{3, {12, 14}}, {7, {17, 20}}, {99, {7, 8}}};
  for (const int threads : {1, 2}) {
    for (const bool checked : {false, true}) {
      EXPECT_EQ(
          gradient.run(indices, upstream, {.rows = 3, .threads = threads, .checked = checked}),
          expected);
    }
  }
}

TEST(Embedding, AnIndexOutsideGivesNanAndNoGradient) {
  Graph graph;
  const Value table = graph.input("table", {DType::float32, {2, 2}});
  const Value indices = graph.input("indices", {DType::int32, {3}});
  const Value y = ops::embedding(table, indices);
  const auto result = testing::run_graph(graph, {y},
                                         {testing::to_bytes({1, 2, 3, 4}, DType::float32),
                                          testing::to_bytes({2, 1, -1}, DType::int32)},
                                         {});
  const Doubles rows = testing::to_doubles(result[0], DType::float32);
  for (const int element : {0, 1, 4, 5}) EXPECT_TRUE(std::isnan(rows[element])) << element;
  EXPECT_EQ(rows[2], 3);
  EXPECT_EQ(rows[3], 4);

  const std::map<int, Doubles> expected = {{0, {5, 6}}, {1, {10, 12}}};
  EXPECT_EQ(RowGradient(2, 2, {5}).run({2, 1, 0, -1, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 7, 8}), expected);
}

TEST(Embedding, DenseRowsHaveTheTablesShape) {
  RowGradient gradient(4, 2, {3});
  const Value dense = ops::dense_rows(gradient.sums, {4, 2});
  const auto result = testing::run_graph(gradient.graph, {dense},
                                         {testing::to_bytes({3, 1, 3}, DType::int32),
                                          testing::to_bytes({1, 2, 3, 4, 5, 6}, DType::float32)},
                                         {.checked = true});
  EXPECT_EQ(testing::to_doubles(result[0], DType::float32), (Doubles{0, 0, 3, 4, 0, 0, 6, 8}));
  EXPECT_EQ(ops::row_gradient_of(dense), gradient.sums);
  EXPECT_EQ(ops::row_gradient_of(gradient.sums), gradient.sums);
  EXPECT_FALSE(ops::row_gradient_of(Value()));
}

TEST(Embedding, NamesWhatDoesNotFit) {
  Graph graph;
  const Value table = graph.input("table", {DType::float32, {4, 2}});
  const Value vector = graph.input("vector", {DType::float32, {4}});
  const Value rows = graph.input("rows", {DType::float32, {kRows, 2}});
  const Value indices = graph.input("indices", {DType::int32, {3}});
  const Value wide = graph.input("wide", {DType::int64, {3}});
  EXPECT_EQ(error_of([&] { ops::embedding(vector, indices); }),
            "embedding: the table is float32[4]; it must be float32 [entries, dim]");
  EXPECT_EQ(error_of([&] { ops::embedding(rows, indices); }),
            "embedding: the table is float32[rows, 2]; it must be float32 [entries, dim]");
  EXPECT_EQ(error_of([&] { ops::embedding(table, wide); }),
            "embedding: the indices are int64[3]; they must be int32: cast them first");
  EXPECT_EQ(error_of([&] {
              ops::dense_rows(table, {4, 2});
            }),
            "dense_rows: table is no gradient of rows; it is dense already");
  RowGradient gradient(4, 2, {3});
  EXPECT_EQ(error_of([&] {
              ops::dense_rows(gradient.sums, {4, 3});
            }),
            "dense_rows: sums of [3, 2] do not belong to a table of [4, 3]");
}

}  // namespace
}  // namespace snug
