#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>

#include "snug/autodiff/gradients.h"
#include "snug/exec/program.h"
#include "snug/ops/ops.h"
#include "snug/tensor/arena.h"
#include "snug/testing/check_op.h"

namespace snug {
namespace {

using testing::check_op;
using testing::Doubles;
using testing::error_of;

constexpr int64_t kFive = 5;  // The rows of a case.

using Build = std::function<Value(Value)>;

// What an op of one value makes of `x` in a step.
Doubles result_of(const Shape& shape, const Build& build, const Doubles& x, const StepInfo& step,
                  int64_t rows = kFive, int64_t part_rows = 0) {
  Graph graph;
  const Value input = graph.input("x", {DType::float32, shape});
  const Value y = build(input);
  InstantiateOptions options;
  options.partition = {.parts = part_rows > 0, .forced_part_rows = part_rows};
  Program program = make_program(graph, {y}, rows, {.threads = 2}, kUnlimited, options);
  Arena arena(program.arena_bytes());
  program.bind(arena.data(), std::vector<void*>(graph.value_count()));
  const testing::Bytes bytes = testing::to_bytes(x, DType::float32);
  std::memcpy(program.tensor(input).data, bytes.data(), bytes.size());
  program.run(step);
  const Tensor result = program.tensor(y);
  const auto* data = static_cast<const std::byte*>(result.data);
  return testing::to_doubles({data, data + result.bytes()}, DType::float32);
}

Doubles ones(const Shape& shape, int64_t rows = kFive) { return Doubles(shape.at(rows).size(), 1); }

Build dropout(const ops::DropoutOptions& options) {
  return [options](Value x) { return ops::dropout(x, options); };
}

// The step that check_op runs.
const StepInfo kStep{.seed = 7, .epoch = 1, .position = 11};

void check(const Shape& shape, const ops::DropoutOptions& options) {
  SCOPED_TRACE(shape.text());
  const Doubles mask = result_of(shape, dropout(options), ones(shape), kStep);
  check_op({.inputs = {{DType::float32, shape}},
            .build = [&](const Values& in) { return ops::dropout(in[0], options); },
            .reference =
                [&](const auto& in) {
                  Doubles y = in[0];
                  for (size_t i = 0; i < y.size(); ++i) y[i] *= mask[i];
                  return y;
                },
            .result = shape,
            .may_hide_nan = true});
}

TEST(Dropout, ResultAndGradientShareOneMask) {
  check({7}, {.rate = 0.4f, .stream = 3});
  check({kRows, 13}, {.rate = 0.4f, .stream = 3});
  check({kRows, 3, 4}, {.rate = 0.9f});
  check({Extent(2, true), 5}, {});
  check({100, 700}, {});
  check({kRows, 20000}, {});
}

// The gradient comes from the result, without draws and without the result of the relu.
void check_behind_relu(const Shape& shape, const ops::DropoutOptions& options) {
  SCOPED_TRACE(shape.text());
  const Doubles mask = result_of(shape, dropout(options), ones(shape), kStep);
  check_op({.inputs = {{DType::float32, shape}},
            .build = [&](const Values& in) { return ops::dropout(ops::relu(in[0]), options); },
            .reference =
                [&](const auto& in) {
                  Doubles y = in[0];
                  for (size_t i = 0; i < y.size(); ++i) y[i] = std::max(y[i], 0.0) * mask[i];
                  return y;
                },
            .result = shape,
            .may_hide_nan = true});
}

TEST(Dropout, BehindARelu) {
  check_behind_relu({kRows, 13}, {.rate = 0.4f, .stream = 3});
  check_behind_relu({kRows, 3, 4}, {.rate = 0.9f});
  check_behind_relu({kRows, 6, 4}, {.noise_shape = Shape{kRows, 1, 4}});
  check_behind_relu({kRows, 6}, {.rate = 0});
  check_behind_relu({kRows, 6}, {.rate = 1});
}

TEST(Dropout, BehindAReluItsResultSaysWhatIsZero) {
  Graph graph;
  const Value x = graph.input("x", {DType::float32, {kRows, 6}});
  const Value y = ops::dropout(ops::relu(x), {});
  const Node& gradient = *gradients(ops::sum(y), {x})[0].producer();
  EXPECT_EQ(gradient.op().name(), "relu_gradient");
  EXPECT_EQ(gradient.input(0), y);
  EXPECT_FALSE(gradient.input(1).producer()->op().traits().random);
}

// The gradient of the relu's own result is not that of what it was given: dropout may keep a zero.
TEST(Dropout, GivesTheGradientOfWhatItRead) {
  Graph graph;
  const Value x = graph.input("x", {DType::float32, {kRows, 6}});
  const Value relu = ops::relu(x), y = ops::dropout(relu, {});
  const Values both = gradients(ops::sum(y), {relu, x});
  EXPECT_EQ(both[0].producer()->op().name(), "dropout");
  EXPECT_EQ(both[1].producer()->op().name(), "relu_gradient");
}

// Who reads the relu beside it adds a gradient of its own.
TEST(Dropout, BehindAReluThatOthersRead) {
  const Shape shape{kRows, 13};
  const ops::DropoutOptions one{.rate = 0.4f, .stream = 3}, other{.rate = 0.2f, .stream = 4};
  const Doubles mask = result_of(shape, dropout(one), ones(shape), kStep);
  const Doubles second = result_of(shape, dropout(other), ones(shape), kStep);
  check_op({.inputs = {{DType::float32, shape}},
            .build =
                [&](const Values& in) {
                  const Value h = ops::relu(in[0]);
                  return ops::add(ops::add(ops::dropout(h, one), ops::dropout(h, other)), h);
                },
            .reference =
                [&](const auto& in) {
                  Doubles y = in[0];
                  for (size_t i = 0; i < y.size(); ++i)
                    y[i] = std::max(y[i], 0.0) * (mask[i] + second[i] + 1);
                  return y;
                },
            .result = shape,
            .may_hide_nan = true});
}

TEST(Dropout, NoiseShapeSharesDraws) {
  check({6, 4}, {.noise_shape = Shape{6, 1}});
  check({kRows, 6, 4}, {.noise_shape = Shape{kRows, 1, 4}});
  check({kRows, 6, 4}, {.noise_shape = Shape{kRows, 6, 1}});
  check({kRows, 6, 4}, {.noise_shape = Shape{1, 6, 4}});
  check({Extent(2, true), 5}, {.noise_shape = Shape{Extent(2, true), 1}});
  check({kRows, 100, 400}, {.noise_shape = Shape{kRows, 1, 400}});

  const Shape shape{kRows, 6, 4};
  const Doubles mask =
      result_of(shape, dropout({.noise_shape = Shape{kRows, 1, 4}}), ones(shape), kStep);
  for (int64_t row = 0; row < kFive; ++row) {
    for (int64_t i = 0; i < 24; ++i) EXPECT_EQ(mask[row * 24 + i], mask[row * 24 + i % 4]);
  }
  const Doubles same =
      result_of(shape, dropout({.noise_shape = Shape{1, 6, 4}}), ones(shape), kStep);
  for (int64_t i = 0; i < kFive * 24; ++i) EXPECT_EQ(same[i], same[i % 24]);
}

TEST(Dropout, KeepsTheRateAndTheMean) {
  for (const float rate : {0.1f, 0.5f, 0.8f}) {
    const Shape shape{kRows, 400};
    const Doubles y = result_of(shape, dropout({.rate = rate}), ones(shape, 500), kStep, 500);
    const auto zeros = static_cast<double>(std::ranges::count(y, 0.0));
    const auto n = static_cast<double>(y.size());
    const double deviation = std::sqrt(n * rate * (1 - rate));
    EXPECT_NEAR(zeros, n * rate, 5 * deviation) << rate;
    EXPECT_NEAR(std::accumulate(y.begin(), y.end(), 0.0) / n, 1, 5 * deviation / n / (1 - rate));
  }
}

TEST(Dropout, RateZeroAndOne) {
  const Shape shape{kRows, 40};
  EXPECT_EQ(result_of(shape, dropout({.rate = 0}), ones(shape), kStep), ones(shape));
  EXPECT_EQ(result_of(shape, dropout({.rate = 1}), ones(shape), kStep), Doubles(200, 0));
}

TEST(Dropout, DependsOnSeedEpochPositionAndStreamOnly) {
  const Shape shape{kRows, 200};
  const auto mask = [&](const StepInfo& step, uint64_t stream = 0, int64_t part_rows = 0) {
    return result_of(shape, dropout({.stream = stream}), ones(shape), step, kFive, part_rows);
  };
  const Doubles first = mask(kStep);
  EXPECT_EQ(mask(kStep), first);
  for (const int64_t part_rows : {1, 2, 3}) EXPECT_EQ(mask(kStep, 0, part_rows), first);
  EXPECT_NE(mask(kStep, 1), first);
  EXPECT_NE(mask({.seed = 8, .epoch = 1, .position = 11}), first);
  EXPECT_NE(mask({.seed = 7, .epoch = 2, .position = 11}), first);
  // Two positions on, the rows are those that stood two further down.
  const Doubles later = mask({.seed = 7, .epoch = 1, .position = 13});
  EXPECT_TRUE(std::equal(first.begin() + 400, first.end(), later.begin()));
  EXPECT_FALSE(std::equal(first.begin(), first.begin() + 400, first.begin() + 400));
}

// As fusion runs it: in blocks that begin and end anywhere.
TEST(Dropout, BlockByBlockIsTheSame) {
  for (const Shape& shape : {Shape{kRows, 7}, Shape{kRows, 128}, Shape{kRows, 3, 100},
                             Shape{Extent(3, true), 5}, Shape{200}}) {
    SCOPED_TRACE(shape.text());
    for (const float rate : {0.3f, 1.0f}) {
      Graph graph;
      const Value x = graph.input("x", {DType::float32, shape});
      const Value y = ops::dropout(x, {.rate = rate, .stream = 5});
      const ElementwiseBlock* block = y.producer()->op().elementwise();
      ASSERT_NE(block, nullptr);
      std::vector<float> in(shape.at(kFive).size()), out(in.size());
      for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i) + 0.1f;
      const Doubles expected = result_of(shape, dropout({.rate = rate, .stream = 5}),
                                         Doubles(in.begin(), in.end()), kStep);
      const auto size = static_cast<int64_t>(in.size());
      for (const int64_t length : {1, 5, 64, 333, 5000}) {
        const snug::Run run{.step = &kStep};
        for (int64_t first = 0; first < size; first += length) {
          const float* operand = in.data() + first;
          block->run_block(&operand, out.data() + first, std::min(length, size - first),
                           {.first = first, .run = &run});
        }
        EXPECT_EQ(Doubles(out.begin(), out.end()), expected) << "blocks of " << length;
      }
    }
  }
}

TEST(Dropout, OffersNoBlockWhereDrawsAreSharedOrRowsAreLong) {
  Graph graph;
  const Value x = graph.input("x", {DType::float32, {kRows, 2000}});
  const Value z = graph.input("z", {DType::float32, {kRows, 20}});
  EXPECT_EQ(ops::dropout(x, {}).producer()->op().elementwise(), nullptr);
  const Value shared = ops::dropout(z, {.noise_shape = Shape{kRows, 1}});
  EXPECT_EQ(shared.producer()->op().elementwise(), nullptr);
}

TEST(Dropout, NamesWhatDoesNotFit) {
  Graph graph;
  const Value x = graph.input("x", {DType::float32, {kRows, 4}});
  const Value i = graph.input("i", {DType::int32, {2}});
  EXPECT_EQ(error_of([&] { ops::dropout(x, {.rate = 1.5f}); }),
            "dropout: the rate 1.5 is not within [0, 1]");
  EXPECT_EQ(error_of([&] { ops::dropout(x, {.rate = std::nanf("")}); }),
            "dropout: the rate nan is not within [0, 1]");
  EXPECT_EQ(error_of([&] { ops::dropout(i, {}); }),
            "dropout: expected a float32 value, got int32[2]; cast it first");
  EXPECT_EQ(error_of([&] {
              ops::dropout(x, {.noise_shape = Shape{kRows, 2}});
            }),
            "dropout: noise_shape [rows, 2] for a value of [rows, 4]: each extent must be the "
            "value's or 1");
}

void check_draws(const Build& build, double mean, double deviation) {
  const Shape shape{kRows, 301};
  const Doubles zero(301 * 200), y = result_of(shape, build, zero, kStep, 200);
  const auto n = static_cast<double>(y.size());
  const double sum = std::accumulate(y.begin(), y.end(), 0.0);
  double squares = 0;
  for (const double element : y) squares += (element - mean) * (element - mean);
  EXPECT_NEAR(sum / n, mean, 5 * deviation / std::sqrt(n));
  EXPECT_NEAR(std::sqrt(squares / n), deviation, 0.02 * deviation);
  for (const int64_t part_rows : {1, 7}) {
    EXPECT_EQ(result_of(shape, build, zero, kStep, 200, part_rows), y);
  }
  const StepInfo next{.seed = 7, .epoch = 1, .position = 211};
  EXPECT_NE(result_of(shape, build, zero, next, 200), y);
}

TEST(RandomLike, DrawsFromItsDistribution) {
  check_draws([](Value x) { return ops::random_normal_like(x, 3, 2, 9); }, 3, 2);
  check_draws([](Value x) { return ops::random_uniform_like(x, -1, 5, 9); }, 2, 6 / std::sqrt(12));
}

TEST(RandomLike, ReadsNothingButTheShape) {
  for (const DType dtype : {DType::float32, DType::int32, DType::boolean}) {
    const Shape shape{kRows, 9};
    const Build build = [](Value x) { return ops::random_normal_like(x, 0, 1, 4); };
    const Doubles expected = result_of(shape, build, Doubles(45), kStep);
    check_op({.inputs = {{dtype, shape}},
              .build = [&](const Values& in) { return build(in[0]); },
              .reference = [&](const auto&) { return expected; },
              .result = shape,
              .has_gradient = false,
              .may_hide_nan = true});
  }
}

}  // namespace
}  // namespace snug
