#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "snug/autodiff/gradients.h"
#include "snug/ops/ops.h"
#include "snug/testing/check_op.h"

namespace snug {
namespace {

using ops::Pool2DOptions;
using testing::check_op;
using testing::Doubles;
using testing::error_of;

struct Case {
  int64_t height, width, channels;
  Pool2DOptions options;
  int64_t rows = 5;

  int64_t out_height() const {
    return (height + options.padding.top + options.padding.bottom - options.size[0]) /
               options.strides[0] +
           1;
  }
  int64_t out_width() const {
    return (width + options.padding.left + options.padding.right - options.size[1]) /
               options.strides[1] +
           1;
  }
  Type x() const { return {DType::float32, {kRows, height, width, channels}}; }
  Shape y() const { return {kRows, out_height(), out_width(), channels}; }
};

const std::vector<Case> kCases = {
    {4, 6, 3, {}},
    {5, 5, 1, {}},
    {5, 6, 9, {.size = {3, 3}, .strides = {2, 2}, .padding = {0, 0, 1, 1}}},
    {4, 5, 17, {.size = {3, 2}, .strides = {1, 1}, .padding = {1, 0, 1, 1}}},
    {7, 5, 2, {.size = {2, 2}, .strides = {3, 3}}},
    {1, 8, 4, {.size = {1, 3}, .strides = {1, 2}, .padding = {0, 1, 0, 1}}},
};

// Calls fold(window's elements) for every element of the result.
template <typename Fold>
Doubles pooled(const Case& c, const Doubles& x, const Fold& fold) {
  Doubles y;
  const auto &size = c.options.size, &strides = c.options.strides;
  const ops::Padding2D& padding = c.options.padding;
  for (int64_t out = 0; out < c.rows * c.out_height() * c.out_width() * c.channels; ++out) {
    const int64_t channel = out % c.channels, pixel = out / c.channels;
    const int64_t row = pixel / (c.out_width() * c.out_height());
    const int64_t top = pixel / c.out_width() % c.out_height() * strides[0] - padding.top;
    const int64_t left = pixel % c.out_width() * strides[1] - padding.left;
    Doubles window;
    for (int64_t i = std::max<int64_t>(top, 0); i < std::min(top + size[0], c.height); ++i) {
      for (int64_t j = std::max<int64_t>(left, 0); j < std::min(left + size[1], c.width); ++j) {
        window.push_back(x[((row * c.height + i) * c.width + j) * c.channels + channel]);
      }
    }
    y.push_back(fold(window));
  }
  return y;
}

double largest(const Doubles& window) { return *std::ranges::max_element(window); }
double mean(const Doubles& window) {
  double sum = 0;
  for (const double value : window) sum += value;
  return sum / static_cast<double>(window.size());
}

void check_max(const Case& c, bool may_hide_nan = false) {
  check_op({.inputs = {c.x()},
            .build = [&](const Values& in) { return ops::max_pool2d(in[0], c.options); },
            .reference = [&](const auto& in) { return pooled(c, in[0], largest); },
            .result = c.y(),
            .rows = c.rows,
            .may_hide_nan = may_hide_nan});
}

TEST(MaxPool2D, MatchesReference) {
  for (const Case& c : kCases) check_max(c, c.options.strides[0] > c.options.size[0]);
}

TEST(MaxPool2D, WindowsOfMorePlacesThanAByteNames) {
  check_max({18, 17, 2, {.size = {17, 16}, .strides = {1, 1}}, 3});
  check_max({16, 16, 2, {.size = {16, 16}, .strides = {1, 1}}, 3});
}

TEST(AveragePool2D, MatchesReference) {
  for (const Case& c : kCases) {
    check_op({.inputs = {c.x()},
              .build = [&](const Values& in) { return ops::average_pool2d(in[0], c.options); },
              .reference = [&](const auto& in) { return pooled(c, in[0], mean); },
              .result = c.y(),
              .may_hide_nan = c.options.strides[0] > c.options.size[0]});
  }
}

// Large enough for a second thread.
TEST(Pool2D, ThreadsGiveTheSameBits) {
  const Case c{40, 41, 8, {.size = {3, 3}, .strides = {2, 2}, .padding = {1, 1, 1, 1}}};
  Graph graph;
  const Value x = graph.input("x", c.x()), g = graph.input("g", {DType::float32, c.y()});
  Values results;
  for (const Value& y : {ops::max_pool2d(x, c.options), ops::average_pool2d(x, c.options)}) {
    results.push_back(y);
    results.push_back(gradients(y, g, {x})[0]);
  }
  std::vector<testing::Bytes> inputs;
  for (const Value& input : {x, g}) {
    Doubles values(input.type().at(c.rows).shape.size());
    for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<double>(i));
    inputs.push_back(testing::to_bytes(values, DType::float32));
  }
  const auto one = testing::run_graph(graph, results, inputs, {.rows = c.rows});
  EXPECT_EQ(testing::run_graph(graph, results, inputs, {.rows = c.rows, .threads = 2}), one);
  EXPECT_EQ(testing::run_graph(graph, results, inputs, {.rows = c.rows, .part_rows = 1}), one);
}

// The gradient of the gradient is the average again.
TEST(AveragePool2D, HasASecondGradient) {
  const Case c = kCases[2];
  Graph graph;
  const Value x = graph.input("x", c.x()), g = graph.input("g", {DType::float32, c.y()});
  const Value dx = gradients(ops::average_pool2d(x, c.options), g, {x})[0];
  const Value v = graph.input("v", c.x());
  EXPECT_EQ(gradients(dx, v, {g})[0].producer()->op().name(), "average_pool2d");
}

// x is one image with one channel; the gradient of sum(y) is what the winners get.
std::array<Doubles, 2> max_and_gradient(const Case& c, const Doubles& x) {
  Graph graph;
  const Value input = graph.input("x", c.x());
  const Value y = ops::max_pool2d(input, c.options);
  const Value g = graph.input("g", y.type());
  const Value dx = gradients(y, g, {input})[0];
  const Doubles ones(y.type().at(1).shape.size(), 1);
  const auto results = testing::run_graph(
      graph, {y, dx},
      {testing::to_bytes(x, DType::float32), testing::to_bytes(ones, DType::float32)}, {.rows = 1});
  return {testing::to_doubles(results[0], DType::float32),
          testing::to_doubles(results[1], DType::float32)};
}

TEST(MaxPool2D, PaddingIsLessThanAnyNumberAndTheFirstOfEqualsWins) {
  const Case c{3, 3, 1, {.size = {2, 2}, .strides = {2, 2}, .padding = {0, 0, 1, 1}}};
  const auto [y, dx] = max_and_gradient(c, {-5, -5, -7, -5, -5, -3, -9, -8, -6});
  EXPECT_EQ(y, (Doubles{-5, -3, -8, -6}));
  EXPECT_EQ(dx, (Doubles{1, 0, 0, 0, 0, 1, 0, 1, 1}));
}

TEST(MaxPool2D, NanWins) {
  const Case c{2, 4, 1, {}};
  const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
  const auto [y, dx] =
      max_and_gradient(c, {1, infinity, -infinity, -infinity, nan, 2, -infinity, -infinity});
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_EQ(y[1], -infinity);
  EXPECT_EQ(dx, (Doubles{0, 0, 1, 0, 1, 0, 0, 0}));
}

TEST(Pool2D, Refuses) {
  Graph graph;
  const Value x = graph.input("x", {DType::float32, {kRows, 8, 8, 3}});
  const Value flat = graph.input("flat", {DType::float32, {kRows, 8}});
  EXPECT_EQ(error_of([&] { ops::max_pool2d(flat, {}); }),
            "max_pool2d: the image must be float32 [rows, height, width, channels], got "
            "float32[rows, 8]");
  EXPECT_EQ(error_of([&] {
              ops::average_pool2d(x, {.size = {9, 2}});
            }),
            "average_pool2d: windows of 9 x 2 are larger than the image [rows, 8, 8, 3] with its "
            "padding, 8 x 8; use smaller windows or \"same\" padding");
  EXPECT_EQ(error_of([&] {
              ops::max_pool2d(x, {.strides = {0, 2}});
            }),
            "max_pool2d: the size is 2, 2 and strides 0, 2; each must be 1 or more");
  EXPECT_EQ(error_of([&] {
              ops::max_pool2d(x, {.padding = {2, 0, 0, 0}});
            }),
            "max_pool2d: padding is 2, 0, 0, 0 for windows of 2 x 2; none may be negative, and "
            "each must be less than the window, which would see no pixel otherwise");
  EXPECT_EQ(error_of([&] {
              constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
              ops::max_pool2d(x, {.size = {kMost, 2}, .padding = {kMost - 1, 0, kMost - 1, 0}});
            }),
            "max_pool2d: the size is 9223372036854775807, 2 and strides 2, 2; each must be at most "
            "2147483647");
  EXPECT_EQ(error_of([&] { ops::max_pool2d({}, {}); }), "max_pool2d: the image is empty");
  EXPECT_EQ(error_of([&] { ops::average_pool2d({}, {}); }), "average_pool2d: the image is empty");
}

TEST(Pool2D, AloneMaxOfTheRectifiedKeepsOnlyPooledValues) {
  Graph graph;
  const Value x = graph.input("x", {DType::float32, {kRows, 6, 6, 3}});
  const Value h = ops::relu(x);
  EXPECT_EQ(ops::max_pool2d(h, {}).producer()->input(0), h);
  const Value capped = ops::relu(x, {.max_value = 6});
  EXPECT_EQ(ops::max_pool2d(capped, {.alone = true}).producer()->input(0), capped);
  const Value y = ops::max_pool2d(h, {.alone = true});
  EXPECT_EQ(y.producer()->op().name(), "relu");
  EXPECT_EQ(y.producer()->input(0).producer()->op().name(), "max_pool2d");
  EXPECT_EQ(y.producer()->input(0).producer()->input(0), x);
}

}  // namespace
}  // namespace snug
