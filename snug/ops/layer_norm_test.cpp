#include <gtest/gtest.h>

#include <cmath>

#include "snug/autodiff/gradients.h"
#include "snug/ops/ops.h"
#include "snug/testing/check_op.h"

namespace snug {
namespace {

using testing::check_op;
using testing::Doubles;
using testing::error_of;

Type floats(const Shape& shape) { return {DType::float32, shape}; }

// Each stretch of `columns` by its mean (0 for RMS) and deviation; gamma and beta may be null.
Doubles normalised(const Doubles& x, int64_t columns, bool rms, double epsilon,
                   const Doubles* gamma, const Doubles* beta) {
  Doubles y(x.size());
  for (size_t first = 0; first < x.size(); first += columns) {
    double mean = 0, variance = 0;
    for (int64_t j = 0; j < columns && !rms; ++j) mean += x[first + j] / double(columns);
    for (int64_t j = 0; j < columns; ++j)
      variance += std::pow(x[first + j] - mean, 2) / double(columns);
    for (int64_t j = 0; j < columns; ++j) {
      y[first + j] = (x[first + j] - mean) / std::sqrt(variance + epsilon);
      if (gamma != nullptr) y[first + j] *= (*gamma)[j];
      if (beta != nullptr) y[first + j] += (*beta)[j];
    }
  }
  return y;
}

void check_layer(const Shape& shape, int axes, bool has_gamma, bool has_beta, int64_t rows = 5) {
  SCOPED_TRACE(shape.text() + (has_gamma ? " gamma" : "") + (has_beta ? " beta" : ""));
  const Shape inner = shape.part(shape.rank() - axes, shape.rank());
  Types inputs = {floats(shape)};
  if (has_gamma) inputs.push_back(floats(inner));
  if (has_beta) inputs.push_back(floats(inner));
  check_op({.inputs = inputs,
            .build =
                [&](const Values& in) {
                  return ops::layer_norm(in[0], {.axes = axes,
                                                 .gamma = has_gamma ? in[1] : Value(),
                                                 .beta = has_beta ? in.back() : Value()});
                },
            .reference =
                [&](const std::vector<Doubles>& in) {
                  return normalised(in[0], inner.size(), false, 1e-3f, has_gamma ? &in[1] : nullptr,
                                    has_beta ? &in.back() : nullptr);
                },
            .result = shape,
            .rows = rows});
}

TEST(LayerNorm, OverTheLastAxes) {
  check_layer({kRows, 16}, 1, true, true);
  check_layer({kRows, 7}, 1, true, true, 1);
  check_layer({kRows, 3, 33}, 1, true, false);
  check_layer({kRows, 3, 5}, 2, false, true);
  check_layer({kRows, 2, 3, 5}, 1, false, false, 3);
  check_layer({kRows, 2, 3, 5}, 3, true, true);
  check_layer({9}, 1, true, true);
  check_layer({kRows, 40, 200}, 1, true, true);
  check_layer({kRows, 40, 200}, 1, true, false);
}

TEST(LayerNorm, Rms) {
  for (const bool has_scale : {true, false}) {
    for (const Shape& shape :
         {Shape{kRows, 16}, Shape{kRows, 3, 7}, Shape{kRows, 2, 2, 5}, Shape{kRows, 40, 200}}) {
      SCOPED_TRACE(shape.text());
      Types inputs = {floats(shape)};
      if (has_scale) inputs.push_back(floats({shape.extent(-1)}));
      check_op(
          {.inputs = inputs,
           .build =
               [&](const Values& in) { return ops::rms_norm(in[0], has_scale ? in[1] : Value()); },
           .reference =
               [&](const std::vector<Doubles>& in) {
                 return normalised(in[0], shape[-1], true, 1e-6, has_scale ? &in[1] : nullptr,
                                   nullptr);
               },
           .result = shape});
    }
  }
}

// A sum over rows may be added to, on any number of threads.
TEST(LayerNorm, ParameterGradientsAddToTheirOutputs) {
  Graph graph;
  const Value x = graph.input("x", floats({400, 100}));
  const Value gamma = graph.input("gamma", floats({100})),
              beta = graph.input("beta", floats({100}));
  const Value y = ops::layer_norm(x, {.gamma = gamma, .beta = beta});
  const Node& node = *gradients(y, graph.input("dy", y.type()), {gamma, beta})[0].producer();
  const std::vector<float> matrix(40'000, 0.5f), statistic(400, 0.25f);
  const void* in[] = {matrix.data(), matrix.data(), statistic.data(), statistic.data()};
  for (const int threads : {1, 2}) {
    const auto kernel = node.op().kernel(node.input_types(), {.threads = threads});
    std::vector<float> dgamma(100), dbeta(100), scratch(kernel->scratch_bytes() / sizeof(float));
    void* out[] = {dgamma.data(), dbeta.data()};
    snug::Run run{.in = in, .out = out, .scratch = scratch.data()};
    kernel->run(run);
    run.accumulate = true;
    kernel->run(run);
    EXPECT_NEAR(dgamma[99], 2 * 400 * 0.5 * 0.25 * 0.25, 1e-3) << threads;
    EXPECT_NEAR(dbeta[99], 2 * 400 * 0.5, 1e-3) << threads;
  }
}

TEST(LayerNorm, Refuses) {
  Graph graph;
  const Value x = graph.input("x", floats({kRows, 4}));
  const Value i = graph.input("i", {DType::int32, {kRows, 4}});
  const Value three = graph.input("three", floats({3}));
  EXPECT_EQ(error_of([&] { ops::layer_norm(x, {.axes = 2}); }),
            "layer_norm: float32[rows, 4] has no 2 axes to normalise over beside its rows");
  EXPECT_EQ(error_of([&] { ops::layer_norm(x, {.axes = 0}); }),
            "layer_norm: float32[rows, 4] has no 0 axes to normalise over beside its rows");
  EXPECT_EQ(error_of([&] { ops::layer_norm(x, {.gamma = three}); }),
            "layer_norm: gamma is float32[3], but a value float32[rows, 4] wants float32[4]");
  EXPECT_EQ(error_of([&] { ops::layer_norm(x, {.beta = three}); }),
            "layer_norm: beta is float32[3], but a value float32[rows, 4] wants float32[4]");
  EXPECT_EQ(error_of([&] { ops::rms_norm(x, three); }),
            "rms_norm: the scale is float32[3], but a value float32[rows, 4] wants float32[4]");
  EXPECT_EQ(error_of([&] { ops::layer_norm(i, {}); }),
            "layer_norm: expected float32, got int32[rows, 4]; cast it first");
  EXPECT_EQ(error_of([&] { ops::rms_norm(Value(), three); }), "rms_norm: the value is empty");
}

}  // namespace
}  // namespace snug
