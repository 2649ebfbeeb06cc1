#include <gtest/gtest.h>

#include "snug/autodiff/gradients.h"
#include "snug/base/error.h"
#include "snug/ops/ops.h"
#include "snug/testing/check_op.h"

namespace snug {
namespace {

using ops::Conv2DOptions;
using testing::Bytes;
using testing::check_op;
using testing::Doubles;
using testing::error_of;

// A convolution with its sizes in one place.
struct Case {
  int64_t height, width, channels, filters, kernel_height, kernel_width;
  Conv2DOptions options;
  int64_t rows = 5;

  int64_t groups() const { return options.groups; }
  int64_t out_height() const {
    const int64_t reach = (kernel_height - 1) * options.dilation[0] + 1;
    return (height + options.padding.top + options.padding.bottom - reach) / options.strides[0] + 1;
  }
  int64_t out_width() const {
    const int64_t reach = (kernel_width - 1) * options.dilation[1] + 1;
    return (width + options.padding.left + options.padding.right - reach) / options.strides[1] + 1;
  }
  Type x() const { return {DType::float32, {kRows, height, width, channels}}; }
  Type y() const { return {DType::float32, {kRows, out_height(), out_width(), filters}}; }
  Type kernel() const {
    return {DType::float32, {kernel_height, kernel_width, channels / groups(), filters}};
  }
  size_t size(const Type& type) const { return type.at(rows).shape.size(); }
};

// Calls visit(x index, kernel index, y index) for every product of the convolution.
template <typename Visit>
void for_each_product(const Case& c, const Visit& visit) {
  const int64_t in_group = c.channels / c.groups(), out_group = c.filters / c.groups();
  const int64_t oh = c.out_height(), ow = c.out_width();
  for (int64_t pixel = 0; pixel < c.rows * oh * ow; ++pixel) {
    for (int64_t tap = 0; tap < c.kernel_height * c.kernel_width; ++tap) {
      const int64_t i = pixel / ow % oh * c.options.strides[0] +
                        tap / c.kernel_width * c.options.dilation[0] - c.options.padding.top;
      const int64_t j = pixel % ow * c.options.strides[1] +
                        tap % c.kernel_width * c.options.dilation[1] - c.options.padding.left;
      if (i < 0 || i >= c.height || j < 0 || j >= c.width) continue;
      const int64_t at = ((pixel / (oh * ow) * c.height + i) * c.width + j) * c.channels;
      for (int64_t k = 0; k < in_group; ++k) {
        for (int64_t f = 0; f < c.filters; ++f) {
          visit(at + f / out_group * in_group + k, (tap * in_group + k) * c.filters + f,
                pixel * c.filters + f);
        }
      }
    }
  }
}

Doubles convolved(const Case& c, const std::vector<Doubles>& in) {
  Doubles y(c.size(c.y()));
  for (size_t i = 0; in.size() > 2 && i < y.size(); ++i) y[i] = in[2][i % c.filters];
  for_each_product(c, [&](int64_t x, int64_t w, int64_t out) { y[out] += in[0][x] * in[1][w]; });
  return y;
}

const std::vector<Case> kCases = {
    {4, 5, 1, 3, 3, 3, {}},
    {5, 4, 3, 4, 1, 1, {}},
    {5, 4, 8, 16, 1, 1, {}},
    {5, 4, 32, 16, 1, 1, {}},
    {6, 5, 3, 2, 3, 2, {.strides = {2, 1}, .padding = {1, 0, 1, 1}}},
    {5, 5, 2, 3, 1, 1, {.strides = {2, 2}}},
    {6, 7, 2, 3, 2, 3, {.dilation = {2, 3}, .padding = {0, 2, 1, 1}}},
    {4, 4, 4, 6, 3, 3, {.padding = {1, 1, 1, 1}, .groups = 2}},
    {1, 9, 2, 3, 1, 4, {.padding = {0, 3, 0, 0}}},
    {3, 3, 16, 8, 2, 2, {}},
    {5, 4, 1, 16, 1, 1, {.strides = {1, 2}}},
    {5, 9, 10, 16, 1, 1, {.strides = {2, 2}}},
    {3, 2, 8, 16, 3, 3, {.padding = {1, 1, 1, 1}}},
    {4, 6, 16, 32, 3, 3, {.padding = {1, 1, 1, 1}}},
    {6, 5, 32, 16, 3, 3, {.padding = {0, 1, 2, 0}}},
    {5, 4, 16, 16, 3, 3, {}},
};

TEST(Conv2D, MatchesReference) {
  for (const Case& c : kCases) {
    for (const bool bias : {false, true}) {
      Types inputs = {c.x(), c.kernel()};
      if (bias) inputs.push_back({DType::float32, {c.filters}});
      check_op({.inputs = inputs,
                .build =
                    [&](const Values& in) {
                      Conv2DOptions options = c.options;
                      if (bias) options.bias = in[2];
                      return ops::conv2d(in[0], in[1], options);
                    },
                .reference = [&](const auto& in) { return convolved(c, in); },
                .result = c.y().shape});
    }
  }
}

// Where 3 x 3 taps need fewer products than a sum over them, a prediction must know it.
TEST(Conv2D, CostCountsTheProductsThatAreMade) {
  const auto flops = [](int64_t channels, int64_t size = 32) {
    Graph graph;
    const Value x = graph.input("x", {DType::float32, {4, size, size, channels}});
    const Value kernel = graph.variable("kernel", {DType::float32, {3, 3, channels, 64}});
    const Node& node = *ops::conv2d(x, kernel, {.padding = {1, 1, 1, 1}}).producer();
    return node.op().cost(node.input_types()).flops;
  };
  const auto sum_over_taps = [](int64_t channels) { return 2.0 * 4 * 32 * 32 * 9 * 64 * channels; };
  EXPECT_EQ(flops(20), sum_over_taps(20));
  EXPECT_GT(flops(64), 0.44 * sum_over_taps(64));
  EXPECT_LT(flops(64), 0.6 * sum_over_taps(64));
  EXPECT_EQ(flops(64, 3), 2.0 * 4 * 3 * 3 * 9 * 64 * 64) << "an image that is mostly border";
}

TEST(Conv2D, RowsMayBeAMultipleOrFixed) {
  Graph graph;
  const Value kernel = graph.variable("kernel", {DType::float32, {3, 3, 2, 5}});
  const Value several = graph.input("x", {DType::float32, {Extent(4, true), 8, 9, 2}});
  EXPECT_EQ(ops::conv2d(several, kernel).shape(), (Shape{Extent(4, true), 6, 7, 5}));
  const Value fixed = graph.input("y", {DType::float32, {2, 8, 9, 2}});
  EXPECT_EQ(ops::conv2d(fixed, kernel).shape(), (Shape{2, 6, 7, 5}));
}

// Each channel by itself, with a bias, as a convolution in as many groups.
void check_depthwise(Case c, int64_t multiplier = 1) {
  Conv2DOptions plain = c.options;
  c.options.groups = c.channels;
  check_op({.inputs = {c.x(),
                       {DType::float32, {c.kernel_height, c.kernel_width, c.channels, multiplier}},
                       {DType::float32, {c.filters}}},
            .build =
                [&](const Values& in) {
                  plain.bias = in[2];
                  return ops::depthwise_conv2d(in[0], in[1], plain);
                },
            .reference = [&](const auto& in) { return convolved(c, in); },
            .result = c.y().shape});
}

TEST(DepthwiseConv2D, MatchesReference) {
  for (const auto& [channels, multiplier] : {std::pair{1, 1}, {3, 1}, {8, 1}, {3, 2}, {8, 2}}) {
    Case c{5, 6, channels, channels * multiplier, 3, 2, {.strides = {1, 2}}};
    c.options.padding = {1, 0, 1, 1};
    check_depthwise(c, multiplier);
  }
}

// Wide enough for the loops that keep the taps in registers.
TEST(DepthwiseConv2D, OfThreeByThree) {
  for (const int64_t padding : {0, 1}) {
    Case c{5, 9, 16, 16, 3, 3, {.padding = {padding, padding, padding, padding}}};
    check_depthwise(c);
  }
}

// Padded as Keras does for SAME, or not; with channels in whole vectors and not; small images and
// such as two threads share.
TEST(DepthwiseConv2D, OfThreeByThreeWithStrideTwo) {
  for (const auto& [size, channels] :
       {std::pair{12, 16}, {13, 32}, {27, 64}, {12, 19}, {13, 3}, {5, 16}}) {
    for (const bool same : {false, true}) {
      Case c{size, size + 1, channels, channels, 3, 3, {.strides = {2, 2}}};
      if (same) c.options.padding = {size % 2, (size + 1) % 2, 1, 1};
      check_depthwise(c);
    }
  }
}

TEST(Conv2DTranspose, MatchesReference) {
  for (const Case& c : kCases) {
    for (const bool bias : {false, true}) {
      Types inputs = {c.y(), c.kernel()};
      if (bias) inputs.push_back({DType::float32, {c.channels}});
      check_op({.inputs = inputs,
                .build =
                    [&](const Values& in) {
                      Conv2DOptions options = c.options;
                      if (bias) options.bias = in[2];
                      return ops::conv2d_transpose(in[0], in[1], {c.height, c.width}, options);
                    },
                .reference =
                    [&](const auto& in) {
                      Doubles x(c.size(c.x()));
                      for (size_t i = 0; bias && i < x.size(); ++i) x[i] = in[2][i % c.channels];
                      for_each_product(c, [&](int64_t to, int64_t w, int64_t from) {
                        x[to] += in[0][from] * in[1][w];
                      });
                      return x;
                    },
                .result = c.x().shape,
                // Strides may leave pixels of a border unread.
                .may_hide_nan = true});
    }
  }
}

// The kernel's gradient as an op of its own: a sum over rows, with gradients again.
TEST(Conv2D, KernelGradientMatchesReference) {
  for (const Case& c : kCases) {
    check_op({.inputs = {c.x(), c.kernel(), c.y()},
              .build =
                  [&](const Values& in) {
                    const Value y = ops::conv2d(in[0], in[1], c.options);
                    return gradients(y, in[2], {in[1]})[0];
                  },
              .reference =
                  [&](const auto& in) {
                    Doubles dw(c.size(c.kernel()));
                    for_each_product(
                        c, [&](int64_t x, int64_t w, int64_t y) { dw[w] += in[0][x] * in[2][y]; });
                    return dw;
                  },
              .result = c.kernel().shape,
              .may_hide_nan = true});
  }
}

std::vector<Bytes> results_in_parts(const Case& c, int64_t part_rows) {
  Graph graph;
  const Value x = graph.input("x", c.x()), kernel = graph.input("kernel", c.kernel());
  const Value upstream = graph.input("g", c.y());
  const Value y = ops::conv2d(x, kernel, c.options);
  const Values dx_dw = gradients(y, upstream, {x, kernel});
  std::vector<Bytes> inputs;
  for (const Value& input : {x, kernel, upstream}) {
    Doubles values(c.size(input.type()));
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<double>((i * 2654435761u + 7) % 1000) / 500 - 1;
    inputs.push_back(testing::to_bytes(values, DType::float32));
  }
  return testing::run_graph(graph, {y, dx_dw[0], dx_dw[1]}, inputs,
                            {.rows = c.rows, .threads = 2, .part_rows = part_rows});
}

// Full parts and the smaller last one read the same prepared kernel, and a row has the same bits in
// any of them.
TEST(Conv2D, PartsOfAnySizeShareThePreparedKernel) {
  for (const int64_t channels : {1, 3, 16, 32, 64}) {
    const std::vector<Case> cases = {
        {7, 7, channels, 16, 1, 1, {}},
        {7, 7, 16, channels, 3, 3, {.padding = {1, 1, 1, 1}}},
        {7, 7, channels, 32, 3, 3, {.padding = {1, 1, 1, 1}}},
        {9, 9, channels, 64, 3, 3, {.strides = {2, 2}, .padding = {1, 1, 1, 1}}},
        {9, 9, channels, channels, 1, 1, {.strides = {2, 2}}},
        {6, 6, channels * 2, channels * 2, 3, 3, {.padding = {1, 1, 1, 1}, .groups = 2}},
        {6, 6, channels, channels, 3, 3, {.padding = {1, 1, 1, 1}, .groups = channels}},
        {5, 8, channels, channels, 3, 3, {.padding = {1, 1, 1, 1}, .groups = channels}},
        {6, 6, channels, 2 * channels, 3, 3, {.padding = {1, 1, 1, 1}, .groups = channels}},
        {9, 9, channels, 8, 3, 3, {.dilation = {2, 2}}},
    };
    for (size_t i = 0; i < cases.size(); ++i) {
      const std::vector<Bytes> whole = results_in_parts(cases[i], 0);
      for (const int64_t part_rows : {1, 2, 3}) {
        const std::vector<Bytes> split = results_in_parts(cases[i], part_rows);
        EXPECT_EQ(split[0], whole[0]) << "y, case " << i << ", " << channels << " channels";
        EXPECT_EQ(split[1], whole[1]) << "dx, case " << i << ", " << channels << " channels";
        const Doubles a = testing::to_doubles(split[2], DType::float32);
        const Doubles b = testing::to_doubles(whole[2], DType::float32);
        for (size_t k = 0; k < a.size(); ++k) ASSERT_NEAR(a[k], b[k], 1e-4) << "dw, case " << i;
      }
    }
  }
}

class Conv2DErrors : public ::testing::Test {
 protected:
  std::string conv(const Shape& x, const Shape& kernel, const Conv2DOptions& options = {}) {
    return error_of([&] { ops::conv2d(input(x), input(kernel), options); });
  }
  Value input(const Shape& shape) { return graph_.input("x", {DType::float32, shape}); }

  Graph graph_;
};

TEST_F(Conv2DErrors, Ranks) {
  EXPECT_EQ(conv({kRows, 28, 28}, {3, 3, 1, 8}),
            "conv2d: the image must be float32 [rows, height, width, channels], got "
            "float32[rows, 28, 28]");
  EXPECT_EQ(conv({kRows, 28, 28, 1}, {3, 3, 8}),
            "conv2d: the kernel must be float32 [height, width, channels / groups, filters], got "
            "float32[3, 3, 8]");
  EXPECT_EQ(error_of([&] {
              ops::depthwise_conv2d(input({kRows, 9, 9, 2}), input({3, 3}));
            }),
            "depthwise_conv2d: the kernel must be float32 [height, width, channels, multiplier], "
            "got float32[3, 3]");
  EXPECT_EQ(error_of([&] { ops::conv2d({}, {}); }), "conv2d: the image is empty");
}

// The library counts strides, dilations and padding in 32 bits, and products of them must not wrap.
TEST_F(Conv2DErrors, NumbersBeyondCounting) {
  constexpr int64_t kHuge = int64_t{1} << 62;
  EXPECT_EQ(conv({kRows, 9, 9, 1}, {3, 3, 1, 2}, {.dilation = {1, kHuge}}),
            "conv2d: the dilation of an axis is 4611686018427387904; strides, dilations, padding "
            "and kernels go up to 2147483647");
  EXPECT_EQ(conv({kRows, 9, 9, 1}, {3, 3, 1, 2},
                 {.strides = {int64_t{1} << 32, 1}, .padding = {int64_t{1} << 32, 0, 0, 0}}),
            "conv2d: the stride of an axis is 4294967296; strides, dilations, padding and kernels "
            "go up to 2147483647");
  EXPECT_EQ(conv({kRows, 9, 9, 1}, {3, 3, 1, 2}, {.padding = {kHuge, 0, kHuge, 0}}),
            "conv2d: the padding of an axis is 4611686018427387904; strides, dilations, padding "
            "and kernels go up to 2147483647");
  EXPECT_EQ(conv({kRows, 9, 9, 1}, {int64_t{1} << 40, 1, 1, 1}, {.dilation = {1 << 30, 1}}),
            "conv2d: the kernel of an axis is 1099511627776; strides, dilations, padding and "
            "kernels go up to 2147483647");
}

TEST_F(Conv2DErrors, Channels) {
  EXPECT_EQ(conv({kRows, 28, 28, 3}, {3, 3, 1, 8}),
            "conv2d: the kernel [3, 3, 1, 8] in 1 group(s) is for 1 channels, the image [rows, 28, "
            "28, 3] has 3; the kernel's third extent must be channels / groups");
  EXPECT_EQ(error_of([&] {
              ops::depthwise_conv2d(input({kRows, 9, 9, 2}), input({3, 3, 4, 1}));
            }),
            "depthwise_conv2d: the kernel [3, 3, 4, 1] is for 4 channels, the image [rows, 9, 9, "
            "2] has 2");
}

TEST_F(Conv2DErrors, Groups) {
  EXPECT_EQ(conv({kRows, 9, 9, 4}, {3, 3, 1, 6}, {.groups = 3}),
            "conv2d: groups = 3 must divide the 4 channels of the image and the 6 filters");
  EXPECT_EQ(conv({kRows, 9, 9, 4}, {3, 3, 4, 6}, {.groups = 0}),
            "conv2d: groups is 0; it must be 1 or more");
  EXPECT_EQ(error_of([&] {
              ops::depthwise_conv2d(input({kRows, 9, 9, 2}), input({3, 3, 2, 1}), {.groups = 2});
            }),
            "depthwise_conv2d: groups is 2; leave it at 1, each channel is its own group");
}

TEST_F(Conv2DErrors, Windows) {
  EXPECT_EQ(conv({kRows, 4, 9, 1}, {3, 3, 1, 2}, {.dilation = {2, 1}}),
            "conv2d: the kernel [3, 3, 1, 2] reaches over 5 x 3 pixels, but the image [rows, 4, 9, "
            "1] with its padding has 4 x 9; pad more (\"same\") or use a smaller kernel");
  EXPECT_EQ(conv({kRows, 9, 9, 1}, {3, 3, 1, 2}, {.strides = {0, 1}}),
            "conv2d: strides are 0, 1 and dilation 1, 1; each must be 1 or more");
  EXPECT_EQ(conv({kRows, 9, 9, 1}, {3, 3, 1, 2}, {.padding = {0, -1, 0, 0}}),
            "conv2d: padding is 0, -1, 0, 0; none may be negative");
}

TEST_F(Conv2DErrors, Bias) {
  EXPECT_EQ(conv({kRows, 9, 9, 1}, {3, 3, 1, 2}, {.bias = input({3})}),
            "conv2d: a bias of float32[3] does not fit 2 filters; it must be float32[2]");
  EXPECT_EQ(
      error_of([&] {
        ops::conv2d_transpose(input({kRows, 4, 4, 2}), input({2, 2, 3, 2}), {5, 5},
                              {.bias = input({2})});
      }),
      "conv2d_transpose: a bias of float32[2] does not fit 3 channels; it must be float32[3]");
}

TEST_F(Conv2DErrors, Transposed) {
  EXPECT_EQ(error_of([&] {
              ops::conv2d_transpose(input({kRows, 4, 4, 3}), input({2, 2, 3, 2}), {5, 5});
            }),
            "conv2d_transpose: the kernel [2, 2, 3, 2] is for 2 channels, the image [rows, 4, 4, "
            "3] has 3");
  EXPECT_EQ(error_of([&] {
              ops::conv2d_transpose(input({kRows, 4, 4, 2}), input({2, 2, 3, 2}), {8, 8});
            }),
            "conv2d_transpose: a result of 8 x 8 would come from an image of 7 x 7, but the image "
            "is [rows, 4, 4, 2]; keras_transposed_axis gives the size and the padding that go "
            "together");
  EXPECT_EQ(error_of([&] {
              ops::conv2d_transpose(input({kRows, 4}), input({2, 2, 3, 2}), {5, 5});
            }),
            "conv2d_transpose: the image must be float32 [rows, height, width, channels], got "
            "float32[rows, 4]");
  EXPECT_EQ(error_of([&] {
              ops::conv2d_transpose(input({kRows, 4, 4, 2}), {}, {5, 5});
            }),
            "conv2d_transpose: the kernel is empty");
}

}  // namespace
}  // namespace snug
