#include "snug/ops/batch_norm.h"

#include <gtest/gtest.h>

#include <cmath>

#include "snug/autodiff/gradients.h"
#include "snug/exec/program.h"
#include "snug/tensor/arena.h"
#include "snug/testing/check_op.h"

namespace snug {
namespace {

using testing::check_op;
using testing::Doubles;
using testing::error_of;

struct Moments {
  Doubles mean, variance;
};

Moments moments(const Doubles& x, int64_t channels) {
  Moments m{Doubles(channels), Doubles(channels)};
  const double count = static_cast<double>(x.size()) / static_cast<double>(channels);
  for (size_t i = 0; i < x.size(); ++i) m.mean[i % channels] += x[i] / count;
  for (size_t i = 0; i < x.size(); ++i)
    m.variance[i % channels] += std::pow(x[i] - m.mean[i % channels], 2) / count;
  return m;
}

// gamma and beta may be null.
Doubles normalised(const Doubles& x, const Moments& m, const Doubles* gamma, const Doubles* beta) {
  const int64_t channels = static_cast<int64_t>(m.mean.size());
  Doubles y(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const int64_t c = static_cast<int64_t>(i) % channels;
    y[i] = (x[i] - m.mean[c]) / std::sqrt(m.variance[c] + double(1e-3f));
    if (gamma != nullptr) y[i] *= (*gamma)[c];
    if (beta != nullptr) y[i] += (*beta)[c];
  }
  return y;
}

Type floats(const Shape& shape) { return {DType::float32, shape}; }

// By the batch's own statistics, without the moving averages.
void check_batch(const Shape& shape, bool has_gamma, bool has_beta, int64_t rows = 5) {
  SCOPED_TRACE(shape.text() + (has_gamma ? " gamma" : "") + (has_beta ? " beta" : ""));
  const int64_t channels = shape[-1];
  Types inputs = {floats(shape)};
  if (has_gamma) inputs.push_back(floats({channels}));
  if (has_beta) inputs.push_back(floats({channels}));
  check_op({.inputs = inputs,
            .build =
                [&](const Values& in) {
                  return ops::batch_normalise(in[0], ops::batch_statistics(in[0], 1e-3f),
                                              {.gamma = has_gamma ? in[1] : Value(),
                                               .beta = has_beta ? in.back() : Value()},
                                              true);
                },
            .reference =
                [&](const std::vector<Doubles>& in) {
                  return normalised(in[0], moments(in[0], channels), has_gamma ? &in[1] : nullptr,
                                    has_beta ? &in.back() : nullptr);
                },
            .result = shape,
            .rows = rows});
}

TEST(BatchNorm, ByTheStatisticsOfTheBatch) {
  check_batch({kRows, 7}, true, true);
  check_batch({kRows, 1}, true, true, 9);
  check_batch({kRows, 3, 5}, true, false);
  check_batch({kRows, 4, 3, 17}, false, true, 1);
  check_batch({kRows, 2, 3, 6}, false, false, 4);
  check_batch({6, 5}, true, true);
  check_batch({kRows, 12, 12, 48}, true, true);
}

TEST(BatchNorm, ByMovingAverages) {
  for (const Shape& shape : {Shape{kRows, 7}, Shape{kRows, 3, 2, 5}, Shape{kRows, 12, 12, 48}}) {
    SCOPED_TRACE(shape.text());
    const Type channel = floats({shape.extent(-1)});
    check_op({.inputs = {floats(shape), channel, channel, channel, channel},
              .build =
                  [&](const Values& in) {
                    return ops::batch_norm_inference(in[0], in[1], in[2],
                                                     {.gamma = in[3], .beta = in[4]});
                  },
              .reference =
                  [&](const std::vector<Doubles>& in) {
                    return normalised(in[0], {in[1], in[2]}, &in[3], &in[4]);
                  },
              .result = shape,
              .low = 0.3,
              .high = 3,
              .constants = {1, 2}});
    check_op(
        {.inputs = {floats(shape), channel, channel},
         .build =
             [&](const Values& in) { return ops::batch_norm_inference(in[0], in[1], in[2], {}); },
         .reference =
             [&](const std::vector<Doubles>& in) {
               return normalised(in[0], {in[1], in[2]}, nullptr, nullptr);
             },
         .result = shape,
         .low = 0.3,
         .high = 3,
         .constants = {1, 2}});
  }
}

// Two channels, two steps: the averages move by the population variance, and only when committed.
TEST(BatchNorm, TrainingMovesTheAverages) {
  Graph graph;
  const Value x = graph.input("x", floats({kRows, 2}));
  const Value mean = graph.variable("mean", floats({2}));
  const Value variance = graph.variable("variance", floats({2}));
  const Value y = ops::batch_norm_training(x, mean, variance, {.momentum = 0.9});
  Program program = make_program(graph, {y}, 4, {.threads = 1});
  Arena arena(program.arena_bytes());
  std::vector<float> means = {0, 0}, variances = {1, 1};
  std::vector<void*> outside(graph.value_count());
  outside[mean.id()] = means.data();
  outside[variance.id()] = variances.data();
  program.bind(arena.data(), outside);
  const Doubles rows = {1, 10, 2, 20, 3, 30, 6, 60};
  Moments expected{{0, 0}, {1, 1}};
  for (int step = 0; step < 2; ++step) {
    const auto slot = program.tensor(x).as<float>();
    for (size_t i = 0; i < slot.size(); ++i) slot[i] = static_cast<float>(rows[i] + step);
    Doubles moved(slot.begin(), slot.end());
    const Moments batch = moments(moved, 2);
    const std::vector<float> before = means;
    program.compute({});
    EXPECT_EQ(means, before);
    const Doubles reference = normalised(moved, batch, nullptr, nullptr);
    const auto result = program.tensor(y).as<float>();
    for (size_t i = 0; i < result.size(); ++i) EXPECT_NEAR(result[i], reference[i], 1e-5);
    program.commit({});
    for (int c = 0; c < 2; ++c) {
      expected.mean[c] = expected.mean[c] * 0.9 + batch.mean[c] * 0.1;
      expected.variance[c] = expected.variance[c] * 0.9 + batch.variance[c] * 0.1;
      EXPECT_NEAR(means[c], expected.mean[c], 1e-5);
      EXPECT_NEAR(variances[c], expected.variance[c], 1e-4);
    }
  }
}

// The mean and variance of x [rows, 1], whole and in parts of 2 rows.
TEST(BatchNorm, StatisticsKeepTheirDigits) {
  const struct {
    Doubles x;
    double mean, variance;
  } cases[] = {
      {{0.1f}, 0.1f, 0}, {{3, 3, 3}, 3, 0}, {{1e5, 1e5 + 1, 1e5 + 2, 1e5 + 1}, 1e5 + 1, 0.5}};
  for (const auto& c : cases) {
    for (const int64_t part_rows : {0, 2}) {
      Graph graph;
      const Value x = graph.input("x", floats({kRows, 1}));
      const auto out = testing::run_graph(
          graph, {ops::batch_statistics(x, 1e-3f)}, {testing::to_bytes(c.x, DType::float32)},
          {.rows = static_cast<int64_t>(c.x.size()), .part_rows = part_rows});
      const Doubles found = testing::to_doubles(out[0], DType::float32);
      EXPECT_NEAR(found[ops::ChannelStatistics::kMean], c.mean, 1e-2);
      EXPECT_NEAR(found[ops::ChannelStatistics::kVariance], c.variance, 1e-5);
    }
  }
}

TEST(BatchNorm, Refuses) {
  Graph graph;
  const Value x = graph.input("x", floats({kRows, 2}));
  const Value flat = graph.input("flat", floats({kRows}));
  const Value two = graph.variable("two", floats({2})),
              three = graph.variable("three", floats({3}));
  EXPECT_EQ(error_of([&] { ops::batch_norm_training(flat, two, two, {}); }),
            "batch_norm: expected float32[..., channels], got float32[rows]");
  EXPECT_EQ(error_of([&] { ops::batch_norm_inference(x, two, three, {}); }),
            "batch_norm: moving_variance is float32[3], but a value float32[rows, 2] wants "
            "float32[2]");
  EXPECT_EQ(error_of([&] { ops::batch_norm_inference(x, two, two, {.gamma = three}); }),
            "batch_norm: gamma is float32[3], but a value float32[rows, 2] wants float32[2]");
  EXPECT_EQ(error_of([&] { ops::batch_norm_training(x, two, Value(), {}); }),
            "batch_norm: moving_mean and moving_variance must be given");
  EXPECT_EQ(error_of([&] { ops::batch_norm_training(Value(), two, two, {}); }),
            "batch_norm: the value is empty");
}

}  // namespace
}  // namespace snug
