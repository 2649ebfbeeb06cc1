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

using Loss = Value (*)(Value, Value);
// The loss of one row of scores.
using RowReference = double (*)(const double* x, const double* target, int64_t classes);

double total(const double* x, int64_t n) { return std::accumulate(x, x + n, 0.0); }
// As Keras clips probabilities that it takes for scores.
double clipped(double p) { return std::clamp(p, 1e-7, 1 - 1e-7); }
double log_sum_exp(const double* x, int64_t n) {
  double sum = 0;
  for (int64_t j = 0; j < n; ++j) sum += std::exp(x[j]);
  return std::log(sum);
}

const struct {
  const char* name;
  Loss build;
  bool sparse, probabilities;
  RowReference reference;
} kRowLosses[] = {
    {"sparse_softmax_cross_entropy", ops::sparse_softmax_cross_entropy, true, false,
     [](const double* x, const double* label, int64_t n) {
       return log_sum_exp(x, n) - x[static_cast<int64_t>(*label)];
     }},
    {"softmax_cross_entropy",
     // The targets must be a distribution: of others the gradient is TensorFlow's, not the true
     // one.
     [](Value x, Value t) { return ops::softmax_cross_entropy(x, ops::softmax(t)); }, false, false,
     [](const double* x, const double* t, int64_t n) {
       const double all_x = log_sum_exp(x, n), all_t = log_sum_exp(t, n);
       double loss = 0;
       for (int64_t j = 0; j < n; ++j) loss += std::exp(t[j] - all_t) * (all_x - x[j]);
       return loss;
     }},
    {"sparse_cross_entropy", ops::sparse_cross_entropy, true, true,
     [](const double* p, const double* label, int64_t n) {
       double sum = 0;
       for (int64_t j = 0; j < n; ++j) sum += clipped(p[j]);
       return std::log(sum / clipped(p[static_cast<int64_t>(*label)]));
     }},
    {"cross_entropy", ops::cross_entropy, false, true,
     [](const double* p, const double* t, int64_t n) {
       const double sum = total(p, n);
       double loss = 0;
       for (int64_t j = 0; j < n; ++j) loss -= t[j] * std::log(p[j] / sum);
       return loss;
     }},
};

TEST(CrossEntropy, OfRows) {
  for (const auto& c : kRowLosses) {
    for (const Shape& leading : {Shape{kRows}, Shape{kRows, 3}, Shape{4}, Shape{}}) {
      for (const int64_t classes : {4, 7, leading.rank() == 2 ? 9 : 300}) {
        SCOPED_TRACE(std::string(c.name) + " of " + leading.text() + " with " +
                     std::to_string(classes));
        Shape shape = leading;
        shape.push_back(classes);
        check_op({.inputs = {{DType::float32, shape},
                             c.sparse ? Type{DType::int32, leading} : Type{DType::float32, shape}},
                  .build = [&](const Values& in) { return c.build(in[0], in[1]); },
                  .reference =
                      [&](const std::vector<Doubles>& in) {
                        Doubles loss(leading.at(5).size());
                        for (size_t r = 0; r < loss.size(); ++r) {
                          loss[r] = c.reference(&in[0][r * classes],
                                                &in[1][c.sparse ? r : r * classes], classes);
                        }
                        return loss;
                      },
                  .result = leading,
                  .low = c.probabilities ? 0.05 : -3,
                  .high = c.probabilities ? 0.9 : 3});
      }
    }
  }
}

TEST(CrossEntropy, OfElements) {
  const auto from_logit = [](double x, double t) { return std::log1p(std::exp(x)) - x * t; };
  const auto from_probability = [](double p, double t) {
    return -(t * std::log(p) + (1 - t) * std::log(1 - p));
  };
  for (const Shape& shape : {Shape{kRows, 7}, Shape{kRows, 33, 200}, Shape{3}, Shape{}}) {
    for (const bool logits : {true, false}) {
      SCOPED_TRACE(shape.text());
      check_op({.inputs = {{DType::float32, shape}, {DType::float32, shape}},
                .build =
                    [&](const Values& in) {
                      return logits ? ops::sigmoid_cross_entropy(in[0], in[1])
                                    : ops::binary_cross_entropy(in[0], in[1]);
                    },
                .reference =
                    [&](const std::vector<Doubles>& in) {
                      Doubles loss(in[0].size());
                      for (size_t i = 0; i < loss.size(); ++i) {
                        loss[i] = logits ? from_logit(in[0][i], in[1][i])
                                         : from_probability(in[0][i], in[1][i]);
                      }
                      return loss;
                    },
                .result = shape,
                .low = logits ? -3 : 0.05,
                .high = logits ? 3 : 0.95});
    }
  }
}

TEST(CrossEntropy, ALabelOutsideTheClassesGivesNan) {
  for (const Loss build : {ops::sparse_softmax_cross_entropy, ops::sparse_cross_entropy}) {
    Graph graph;
    const Value x = graph.input("x", {DType::float32, {kRows, 2}});
    const Value labels = graph.input("labels", {DType::int32, {kRows}});
    const Value loss = build(x, labels);
    const Doubles y = testing::to_doubles(
        testing::run_graph(graph, {loss},
                           {testing::to_bytes({0.5, 0.5, 0.5, 0.5, 0.5, 0.5}, DType::float32),
                            testing::to_bytes({-1, 2, 1}, DType::int32)},
                           {.rows = 3})[0],
        DType::float32);
    EXPECT_TRUE(std::isnan(y[0]));
    EXPECT_TRUE(std::isnan(y[1]));
    EXPECT_NEAR(y[2], std::log(2.0), 1e-6);
  }
}

TEST(CrossEntropy, Refuses) {
  Graph graph;
  const Value x = graph.input("x", {DType::float32, {kRows, 4}});
  const Value flat = graph.input("flat", {DType::float32, {kRows}});
  const Value labels = graph.input("labels", {DType::int32, {kRows}});
  EXPECT_EQ(error_of([&] { ops::sparse_softmax_cross_entropy(x, flat); }),
            "sparse_softmax_cross_entropy: scores float32[rows, 4] want targets int32[rows], got "
            "float32[rows]; give the number of each row's class");
  EXPECT_EQ(error_of([&] { ops::cross_entropy(x, labels); }),
            "cross_entropy: scores float32[rows, 4] want targets float32[rows, 4], got "
            "int32[rows]; give a distribution over the classes for each row");
  EXPECT_EQ(error_of([&] { ops::softmax_cross_entropy(flat, flat); }),
            "softmax_cross_entropy: expected float32[..., classes], got float32[rows]; give a "
            "score for each class");
  EXPECT_EQ(error_of([&] { ops::sigmoid_cross_entropy(x, flat); }),
            "sigmoid_cross_entropy: scores float32[rows, 4] and targets float32[rows] must be "
            "float32 values of one shape");
  EXPECT_EQ(error_of([&] { ops::binary_cross_entropy(x, Value()); }),
            "binary_cross_entropy: the targets are empty");
  EXPECT_EQ(error_of([&] { ops::sparse_cross_entropy(Value(), labels); }),
            "sparse_cross_entropy: the scores are empty");
}

}  // namespace
}  // namespace snug
