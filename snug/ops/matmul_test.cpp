#include <gtest/gtest.h>

#include <cmath>

#include "snug/ops/ops.h"
#include "snug/tensor/arena.h"
#include "snug/testing/check_op.h"

namespace snug {
namespace {

using testing::check_op;
using testing::Doubles;
using testing::error_of;

struct Product {
  int64_t batch, m, n, k;
  bool transpose_a = false, transpose_b = false, bias = false;
};

Doubles product(const std::vector<Doubles>& in, const Product& p) {
  Doubles c(p.batch * p.m * p.n);
  for (int64_t b = 0; b < p.batch; ++b) {
    for (int64_t i = 0; i < p.m; ++i) {
      for (int64_t j = 0; j < p.n; ++j) {
        double sum = p.bias ? in[2][j] : 0;
        for (int64_t l = 0; l < p.k; ++l) {
          const int64_t ai = p.transpose_a ? l * p.m + i : i * p.k + l;
          const int64_t bi = p.transpose_b ? j * p.k + l : l * p.n + j;
          sum += in[0][b * p.m * p.k + ai] *
                 in[1][(in[1].size() == size_t(p.k * p.n) ? 0 : b * p.k * p.n) + bi];
        }
        c[(b * p.m + i) * p.n + j] = sum;
      }
    }
  }
  return c;
}

Type floats(const Shape& shape) { return {DType::float32, shape}; }

TEST(Matmul, RowsTimesWeights) {
  for (const auto& [k, n] :
       {std::pair<int64_t, int64_t>{3, 4}, {1, 1}, {100, 64}, {17, 1}, {200, 300}}) {
    for (const bool transpose_b : {false, true}) {
      check_op({.inputs = {floats({kRows, k}), floats(transpose_b ? Shape{n, k} : Shape{k, n}),
                           floats({n})},
                .build =
                    [&](const Values& in) {
                      return ops::matmul(in[0], in[1], {.transpose_b = transpose_b, .bias = in[2]});
                    },
                .reference =
                    [&, n = n, k = k](const auto& in) {
                      return product(in, {1, 5, n, k, false, transpose_b, true});
                    },
                .result = {kRows, n}});
    }
  }
}

TEST(Matmul, LeadingAxesAreRowsOfOneProduct) {
  check_op({.inputs = {floats({kRows, 3, 4}), floats({4, 6})},
            .build = [](const Values& in) { return ops::matmul(in[0], in[1]); },
            .reference =
                [](const auto& in) {
                  return product(in, {1, 15, 6, 4});
                },
            .result = {kRows, 3, 6}});
}

TEST(Matmul, BatchesOfMatrices) {
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      check_op({.inputs = {floats(transpose_a ? Shape{kRows, 2, 4, 3} : Shape{kRows, 2, 3, 4}),
                           floats(transpose_b ? Shape{kRows, 2, 6, 4} : Shape{kRows, 2, 4, 6})},
                .build =
                    [&](const Values& in) {
                      return ops::matmul(in[0], in[1],
                                         {.transpose_a = transpose_a, .transpose_b = transpose_b});
                    },
                .reference =
                    [&](const auto& in) {
                      return product(in, {10, 3, 6, 4, transpose_a, transpose_b});
                    },
                .result = {kRows, 2, 3, 6}});
    }
  }
}

TEST(Matmul, SumOverRows) {
  check_op(
      {.inputs = {floats({kRows, 3}), floats({kRows, 4})},
       .build = [](const Values& in) { return ops::matmul(in[0], in[1], {.transpose_a = true}); },
       .reference =
           [](const auto& in) {
             return product(in, {1, 3, 4, 5, true});
           },
       .result = {3, 4}});
}

TEST(Matmul, WithABiasIsNoSumOfParts) {
  Graph graph;
  const Value x = graph.input("x", {DType::float32, {kRows, 3}});
  const Value y = graph.input("y", {DType::float32, {kRows, 4}});
  const Value b = graph.variable("b", {DType::float32, {4}});
  EXPECT_EQ(ops::matmul(x, y, {.transpose_a = true}).producer()->rows(), Rows::sum);
  EXPECT_EQ(ops::matmul(x, y, {.transpose_a = true, .bias = b}).producer()->rows(), Rows::coupled);
}

TEST(Matmul, LargeEnoughForTheLibrary) {
  check_op({.inputs = {floats({kRows, 96}), floats({96, 160})},
            .build = [](const Values& in) { return ops::matmul(in[0], in[1]); },
            .reference =
                [](const auto& in) {
                  return product(in, {1, 131, 160, 96});
                },
            .result = {kRows, 160},
            .rows = 131,
            .tolerance = 1e-5});
}

// Two threads take another kernel than one.
TEST(Matmul, ThreadsDoNotShowInTheGradientOfWeights) {
  Graph graph;
  const Value x = graph.input("x", floats({kRows, 200})),
              dy = graph.input("dy", floats({kRows, 96}));
  const Node& node = *ops::matmul(x, dy, {.transpose_a = true}).producer();
  for (const int64_t rows : {64, 256, 300}) {
    std::vector<float> a(rows * 200), b(rows * 96), one(200 * 96), two(200 * 96);
    for (size_t i = 0; i < a.size(); ++i) a[i] = std::sin(static_cast<float>(i));
    for (size_t i = 0; i < b.size(); ++i) b[i] = std::cos(static_cast<float>(i));
    for (const auto& [threads, out] : {std::pair{1, &one}, {2, &two}}) {
      const auto kernel = node.op().kernel({floats({rows, 200}), floats({rows, 96})}, {threads});
      kernel->compile(1);
      const Arena scratch(kernel->scratch_bytes() + 64);
      const void* in[] = {a.data(), b.data()};
      void* to[] = {out->data()};
      kernel->run({.in = in, .out = to, .scratch = scratch.data()});
    }
    EXPECT_EQ(one, two) << rows << " rows";
  }
}

// Runs a node's kernel for concrete types on sines.
std::vector<float> run_node(const Node& node, const Types& types, int threads) {
  const auto kernel = node.op().kernel(types, {threads});
  kernel->compile(1);
  std::vector<std::vector<float>> values;
  std::vector<const void*> in;
  for (const Type& type : types) {
    std::vector<float>& value = values.emplace_back(type.shape.size());
    for (size_t i = 0; i < value.size(); ++i) value[i] = std::sin(static_cast<float>(i));
    in.push_back(value.data());
  }
  std::vector<float> y(node.op().infer(types)[0].shape.size(), 7.0f);
  void* out[] = {y.data()};
  const Arena scratch(kernel->scratch_bytes() + 64), prepared(kernel->prepared_bytes() + 64);
  const Run run{
      .in = in.data(), .out = out, .scratch = scratch.data(), .prepared = prepared.data()};
  if (kernel->prepared_bytes() > 0) kernel->prepare(run, prepared.data());
  kernel->run(run);
  return y;
}

// Small products are ours, large ones the library's: a row must not tell how many others there are.
TEST(Matmul, OtherRowsDoNotShowInAProductOfEachRow) {
  Graph graph;
  const Value a = graph.input("a", floats({kRows, 16, 1000})),
              b = graph.input("b", floats({kRows, 1000, 40}));
  const Node& node = *ops::matmul(a, b).producer();
  ASSERT_EQ(node.rows(), Rows::each);
  const auto at = [](int64_t rows) {
    return Types{floats({rows, 16, 1000}), floats({rows, 1000, 40})};
  };
  const std::vector<float> one = run_node(node, at(1), 1);
  for (const int64_t rows : {2, 7, 9, 30}) {
    for (const int threads : {1, 2}) {
      std::vector<float> y = run_node(node, at(rows), threads);
      y.resize(one.size());
      EXPECT_EQ(y, one) << rows << " rows, " << threads << " threads";
    }
  }
}

TEST(Matmul, OfNoRows) {
  Graph graph;
  const Value x = graph.input("x", floats({0, 200})), dy = graph.input("dy", floats({0, 512}));
  const Value w = graph.input("w", floats({200, 512}));
  for (const int threads : {1, 2}) {
    EXPECT_TRUE(run_node(*ops::matmul(x, w).producer(), {x.type(), w.type()}, threads).empty());
    const Node& gradient = *ops::matmul(x, dy, {.transpose_a = true}).producer();
    EXPECT_EQ(run_node(gradient, {x.type(), dy.type()}, threads),
              std::vector<float>(200 * 512, 0.0f));
  }
}

TEST(Matmul, NamesBothShapesWhenTheyDoNotMultiply) {
  Graph graph;
  const Value a = graph.input("a", floats({kRows, 3}));
  const Value b = graph.input("b", floats({4, 5}));
  const Value v = graph.input("v", floats({4}));
  const Value c = graph.input("c", floats({kRows, 2, 3}));
  const Value d = graph.input("d", floats({kRows, 4, 3, 2}));
  const Value ids = graph.input("ids", {DType::int32, {kRows, 4}});
  EXPECT_EQ(error_of([&] { ops::matmul(a, b); }),
            "matmul: [rows, 3] and [4, 5] do not multiply: the inner extents differ");
  EXPECT_EQ(error_of([&] { ops::matmul(a, v); }),
            "matmul: [rows, 3] and [4] do not multiply: each needs two axes or more");
  EXPECT_EQ(error_of([&] { ops::matmul(c, d); }),
            "matmul: [rows, 2, 3] and [rows, 4, 3, 2] do not multiply: the leading axes must be "
            "the same");
  EXPECT_EQ(
      error_of([&] { ops::matmul(ids, b); }),
      "matmul: expected float32 values, got int32[rows, 4] and float32[4, 5]; cast them first");
  EXPECT_EQ(error_of([&] {
              ops::matmul(graph.input("x", floats({kRows, 4})), b, {.bias = v});
            }),
            "matmul: a bias of [4] does not fit 5 columns; its shape must be [5]");
  EXPECT_EQ(error_of([&] { ops::matmul(a, Value()); }), "matmul: the second value is empty");
}

}  // namespace
}  // namespace snug
