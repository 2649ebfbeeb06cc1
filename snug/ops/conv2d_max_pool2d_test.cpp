#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "snug/autodiff/gradients.h"
#include "snug/ops/ops.h"
#include "snug/testing/check_op.h"

namespace snug {
namespace {

using ops::Conv2DOptions;
using ops::Pool2DOptions;
using testing::check_op;
using testing::Doubles;

// A convolution with a kernel of 3 x 3 and the pooling of its result.
struct Case {
  int64_t height, width, channels, filters;
  Conv2DOptions convolution;
  Pool2DOptions pool;
  bool rectified = false;
  int64_t rows = 3;

  int64_t convolved(int64_t size, int64_t before, int64_t after, int64_t stride) const {
    return (size + before + after - 3) / stride + 1;
  }
  int64_t mid_height() const {
    const ops::Padding2D& p = convolution.padding;
    return convolved(height, p.top, p.bottom, convolution.strides[0]);
  }
  int64_t mid_width() const {
    const ops::Padding2D& p = convolution.padding;
    return convolved(width, p.left, p.right, convolution.strides[1]);
  }
  int64_t out_height() const { return (mid_height() - pool.size[0]) / pool.strides[0] + 1; }
  int64_t out_width() const { return (mid_width() - pool.size[1]) / pool.strides[1] + 1; }
  Type x() const { return {DType::float32, {kRows, height, width, channels}}; }
  Type kernel() const { return {DType::float32, {3, 3, channels, filters}}; }
  Shape y() const { return {kRows, out_height(), out_width(), filters}; }
};

double convolved_at(const Case& c, const std::vector<Doubles>& in, int64_t row, int64_t i,
                    int64_t j, int64_t filter) {
  double sum = in.size() > 2 ? in[2][filter] : 0;
  for (int64_t tap = 0; tap < 9; ++tap) {
    const int64_t y = i * c.convolution.strides[0] + tap / 3 - c.convolution.padding.top;
    const int64_t x = j * c.convolution.strides[1] + tap % 3 - c.convolution.padding.left;
    if (y < 0 || y >= c.height || x < 0 || x >= c.width) continue;
    const int64_t pixel = ((row * c.height + y) * c.width + x) * c.channels;
    for (int64_t k = 0; k < c.channels; ++k)
      sum += in[0][pixel + k] * in[1][(tap * c.channels + k) * c.filters + filter];
  }
  return sum;
}

Doubles pooled(const Case& c, const std::vector<Doubles>& in) {
  Doubles y;
  for (int64_t out = 0; out < c.rows * c.out_height() * c.out_width() * c.filters; ++out) {
    const int64_t pixel = out / c.filters;
    const int64_t j = pixel % c.out_width(), i = pixel / c.out_width() % c.out_height();
    const int64_t row = pixel / (c.out_width() * c.out_height());
    double largest = -std::numeric_limits<double>::infinity();
    for (int64_t place = 0; place < c.pool.size[0] * c.pool.size[1]; ++place) {
      largest = std::max(
          largest, convolved_at(c, in, row, i * c.pool.strides[0] + place / c.pool.size[1],
                                j * c.pool.strides[1] + place % c.pool.size[1], out % c.filters));
    }
    y.push_back(c.rectified ? std::max(largest, 0.0) : largest);
  }
  return y;
}

Value build(const Case& c, const Values& in) {
  Conv2DOptions convolution = c.convolution;
  if (in.size() > 2) convolution.bias = in[2];
  const Value y = ops::conv2d(in[0], in[1], convolution);
  Pool2DOptions pool = c.pool;
  pool.alone = true;
  return ops::max_pool2d(c.rectified ? ops::relu(y) : y, pool);
}

const std::vector<Case> kCases = {
    {8, 10, 3, 5, {}, {}},
    {9, 7, 1, 16, {}, {}, true},
    {7, 7, 8, 6, {}, {}},  // Deep, but a fifth is not seen.
    {8, 8, 2, 3, {.padding = {1, 1, 1, 1}}, {.size = {2, 2}, .strides = {3, 2}}},
    {11,
     9,
     3,
     17,
     {.strides = {2, 1}, .padding = {0, 1, 1, 0}},
     {.size = {1, 3}, .strides = {1, 3}}},
};

TEST(Conv2DMaxPool2D, MatchesReference) {
  for (const Case& c : kCases) {
    for (const bool bias : {false, true}) {
      Types inputs = {c.x(), c.kernel()};
      if (bias) inputs.push_back({DType::float32, {c.filters}});
      check_op({.inputs = inputs,
                .build = [&](const Values& in) { return build(c, in); },
                .reference = [&](const auto& in) { return pooled(c, in); },
                .result = c.y(),
                .rows = c.rows,
                .may_hide_nan = true});
    }
  }
}

bool is_joined(const Case& c, bool alone) {
  Graph graph;
  Pool2DOptions pool = c.pool;
  pool.alone = alone;
  const Value y =
      ops::conv2d(graph.input("x", c.x()), graph.variable("w", c.kernel()), c.convolution);
  return ops::max_pool2d(y, pool).producer()->op().name() == "conv2d_max_pool2d";
}

TEST(Conv2DMaxPool2D, JoinsWhereItPays) {
  for (const Case& c : kCases) {
    EXPECT_TRUE(is_joined(c, true));
    EXPECT_FALSE(is_joined(c, false));
  }
  EXPECT_FALSE(is_joined({34, 34, 8, 4, {}, {}}, true));  // Deep, and all is seen.
  EXPECT_FALSE(is_joined({9, 9, 3, 4, {}, {.size = {3, 3}, .strides = {2, 2}}}, true));
  EXPECT_FALSE(is_joined({9, 9, 3, 4, {.dilation = {2, 2}}, {}}, true));
}

// The activation of another layer may not be the only reader of what was convolved.
TEST(Conv2DMaxPool2D, LeavesWhatAnotherLayerRectified) {
  Graph graph;
  const Case& c = kCases[1];
  const Value x = graph.input("x", c.x()), kernel = graph.variable("w", c.kernel());
  const auto pooled_in = [&](const char* layer) {
    const Value y = [&] {
      const Graph::Scope scope(graph, "conv");
      return ops::conv2d(x, kernel);
    }();
    const Graph::Scope scope(graph, layer);
    const Value pool = ops::max_pool2d(ops::relu(y), {.alone = true});
    return std::string(pool.producer()->input(0).producer()->op().name());
  };
  EXPECT_EQ(pooled_in("conv"), "conv2d_max_pool2d");
  EXPECT_EQ(pooled_in("re_lu"), "max_pool2d");
}

}  // namespace
}  // namespace snug
