#include "snug/kernels/onednn_convolution.h"

#include <atomic>

#include "snug/base/error.h"
#include "snug/base/threads.h"
#include "snug/kernels/onednn_testing.h"

namespace snug {
namespace {

using testing::expect_near;
using testing::GuardedBlock;
using testing::random_floats;
using testing::same_bits;
using testing::Sum;
using Floats = std::vector<float>;
using Sums = std::vector<Sum>;
using Shape = OnednnConvolutionShape;
using enum ConvolutionDirection;

std::string text(const Shape& s) {
  return fmt::format("{}x{}x{}x{}-{} k{}x{} s{}x{} d{}x{} p{},{},{},{} g{}{}{}", s.batch, s.height,
                     s.width, s.channels, s.filters, s.kernel_height, s.kernel_width,
                     s.stride_height, s.stride_width, s.dilation_height, s.dilation_width, s.top,
                     s.left, s.bottom, s.right, s.groups, s.bias ? " bias" : "",
                     s.accumulate ? " +=" : "");
}

struct Operands {
  explicit Operands(const Shape& s, unsigned seed = 1)
      : x(random_floats(s.batch * s.height * s.width * s.channels, seed)),
        w(random_floats(s.kernel_height * s.kernel_width * s.channels / s.groups * s.filters,
                        seed + 1)),
        bias(random_floats(s.filters, seed + 2)),
        dy(random_floats(s.batch * s.out_height() * s.out_width() * s.filters, seed + 3)),
        before(random_floats(w.size(), seed + 4)) {}
  Floats x, w, bias, dy, before;
};

// Calls visit(x index, w index, y index) for every product of the convolution, with -1 for an x
// that is padding.
template <typename Visit>
void for_each_product(const Shape& s, const Visit& visit) {
  const int64_t group_channels = s.channels / s.groups, group_filters = s.filters / s.groups;
  const int64_t pixels = s.batch * s.out_height() * s.out_width();
  const int64_t taps = s.kernel_height * s.kernel_width;
  for (int64_t pixel = 0; pixel < pixels; ++pixel) {
    const int64_t n = pixel / (s.out_height() * s.out_width());
    const int64_t oy = pixel / s.out_width() % s.out_height(), ox = pixel % s.out_width();
    for (int64_t tap = 0; tap < taps; ++tap) {
      const int64_t ky = tap / s.kernel_width, kx = tap % s.kernel_width;
      const int64_t iy = oy * s.stride_height + ky * s.dilation_height - s.top;
      const int64_t ix = ox * s.stride_width + kx * s.dilation_width - s.left;
      const bool inside = iy >= 0 && iy < s.height && ix >= 0 && ix < s.width;
      for (int64_t c = 0; c < group_channels; ++c) {
        for (int64_t f = 0; f < s.filters; ++f) {
          const int64_t channel = f / group_filters * group_channels + c;
          visit(inside ? ((n * s.height + iy) * s.width + ix) * s.channels + channel : -1,
                (tap * group_channels + c) * s.filters + f, pixel * s.filters + f);
        }
      }
    }
  }
}

Sums reference(const Shape& s, ConvolutionDirection direction, const Operands& in) {
  Sums sums(direction == forward          ? in.dy.size()
            : direction == input_gradient ? in.x.size()
                                          : in.w.size());
  for (size_t i = 0; s.bias && i < sums.size(); ++i) sums[i].add(in.bias[i % s.filters]);
  for (size_t i = 0; s.accumulate && i < sums.size(); ++i) sums[i].add(in.before[i]);
  for_each_product(s, [&](int64_t x, int64_t w, int64_t y) {
    if (x < 0) {
      if (direction == forward && !std::isfinite(in.w[w])) sums[y].may_be_nan = true;
      if (direction == weights_gradient && !std::isfinite(in.dy[y])) sums[w].may_be_nan = true;
      return;
    }
    if (direction == forward) sums[y].add(double(in.x[x]) * in.w[w]);
    if (direction == input_gradient) sums[x].add(double(in.dy[y]) * in.w[w]);
    if (direction == weights_gradient) sums[w].add(double(in.x[x]) * in.dy[y]);
  });
  return sums;
}

Floats run_with_weights(const OnednnConvolution& convolution, const Operands& in, int lane,
                        Floats result, ConvolutionDirection direction) {
  GuardedBlock scratch(convolution.scratch_bytes());
  GuardedBlock library(convolution.weights_bytes());
  const void* weights = convolution.weights_bytes() > 0 ? library.data() : in.w.data();
  // Twice: whatever stands in the block, padding included, must not matter the second time either.
  for (int time = 0; time < 2; ++time) {
    scratch.poison();
    library.poison();
    EXPECT_TRUE(convolution.prepare(lane, in.w.data(), library.data(), scratch.data()));
    EXPECT_TRUE(direction == forward
                    ? convolution.run_forward(lane, in.x.data(), weights, in.bias.data(),
                                              result.data(), scratch.data())
                    : convolution.run_input_gradient(lane, in.dy.data(), weights, result.data(),
                                                     scratch.data()));
  }
  EXPECT_TRUE(scratch.guards_hold());
  EXPECT_TRUE(library.guards_hold());
  return result;
}

Floats run(const OnednnConvolution& convolution, const Operands& in, ConvolutionDirection direction,
           int lane = 0) {
  if (direction == forward) {
    return run_with_weights(convolution, in, lane, Floats(in.dy.size()), forward);
  }
  if (direction == input_gradient) {
    return run_with_weights(convolution, in, lane, Floats(in.x.size()), input_gradient);
  }
  Floats dw = in.before;
  GuardedBlock scratch(convolution.scratch_bytes());
  EXPECT_TRUE(
      convolution.run_weights_gradient(lane, in.x.data(), in.dy.data(), dw.data(), scratch.data()));
  EXPECT_TRUE(scratch.guards_hold());
  return dw;
}

void check(Shape shape, ConvolutionDirection direction, int threads, const Operands& in) {
  shape.bias = shape.bias && direction == forward;
  shape.accumulate = shape.accumulate && direction == weights_gradient;
  OnednnConvolution convolution(shape, direction, threads);
  convolution.compile(1);
  const Floats result = run(convolution, in, direction);
  const std::string name = fmt::format("{} direction {} on {} threads, {}", text(shape),
                                       int(direction), threads, convolution.implementation());
  expect_near(reference(shape, direction, in), result, name);
  EXPECT_TRUE(same_bits(result, run(convolution, in, direction))) << name;
}

void check(const Shape& shape, const Operands& in, int threads) {
  for (const auto direction : {forward, input_gradient, weights_gradient}) {
    check(shape, direction, threads, in);
  }
}

void check(const Shape& shape, int threads) { check(shape, Operands(shape), threads); }

// Each of groups, channels, filters.
constexpr std::array<std::array<int64_t, 3>, 8> kChannels = {{{1, 1, 1},
                                                              {1, 3, 5},
                                                              {1, 16, 24},
                                                              {2, 6, 10},
                                                              {2, 16, 32},
                                                              {3, 3, 3},
                                                              {5, 5, 10},
                                                              {16, 16, 16}}};

Shape with_channels(Shape shape, const std::array<int64_t, 3>& channels) {
  shape.groups = channels[0];
  shape.channels = channels[1];
  shape.filters = channels[2];
  return shape;
}

TEST(OnednnConvolution, MatchesReference) {
  for (const auto& channels : kChannels) {
    for (int bits = 0; bits < 32; ++bits) {
      Shape shape = {.batch = 2, .height = 9, .width = 8, .kernel_height = 3, .kernel_width = 2};
      if (bits & 1) shape.stride_height = 2, shape.stride_width = 3;
      if (bits & 2) shape.dilation_height = 2, shape.dilation_width = 3;
      if (bits & 4) shape.top = 1, shape.right = 2;
      if (bits & 8) shape.bottom = 2, shape.left = 1;
      shape.bias = shape.accumulate = bits & 16;
      check(with_channels(shape, channels), 1);
      // On a loaded machine each barrier of two threads may take milliseconds: only some.
      if (bits % 9 == 4) check(with_channels(shape, channels), 2);
    }
  }
}

TEST(OnednnConvolution, UnusualSizes) {
  const std::vector<Shape> shapes = {
      {.height = 1, .width = 1},
      {.height = 2,
       .width = 2,
       .kernel_height = 5,
       .kernel_width = 5,
       .top = 2,
       .left = 2,
       .bottom = 2,
       .right = 2},
      {.height = 4,
       .width = 5,
       .kernel_height = 2,
       .kernel_width = 2,
       .top = 3,
       .left = 4,
       .bottom = 3,
       .right = 2},
      {.height = 7, .width = 7, .stride_height = 3, .stride_width = 3},
      {.batch = 3, .height = 1, .width = 20, .kernel_width = 5, .left = 4},
      {.height = 11,
       .width = 10,
       .kernel_height = 2,
       .kernel_width = 2,
       .stride_height = 3,
       .stride_width = 4}};
  for (const auto& channels : kChannels) {
    for (const Shape& shape : shapes) check(with_channels(shape, channels), 1);
  }
}

TEST(OnednnConvolution, LayersOfRealModels) {
  const Shape k3 = {.batch = 2, .kernel_height = 3, .kernel_width = 3};
  Shape first = k3, second = k3, depthwise = k3, pointwise = {.batch = 2};
  first.height = first.width = 28, first.channels = 1, first.filters = 32, first.bias = true;
  second.height = second.width = 13, second.channels = 32, second.filters = 64, second.bias = true;
  depthwise.height = depthwise.width = 24;
  depthwise.channels = depthwise.filters = depthwise.groups = 48;
  depthwise.top = depthwise.left = depthwise.bottom = depthwise.right = 1;
  pointwise.height = pointwise.width = 14, pointwise.channels = 64, pointwise.filters = 96;
  for (const Shape& shape : {first, second, depthwise, pointwise}) {
    for (const int threads : {1, 2}) check(shape, threads);
  }
}

// Rows that threads cannot share alike, and fewer rows than threads.
TEST(OnednnConvolution, AnyNumberOfRowsOnSeveralThreads) {
  for (const int64_t batch : {1, 2, 3, 5, 7, 8}) {
    for (const auto& channels : {std::array<int64_t, 3>{1, 3, 5}, {1, 16, 24}, {16, 16, 16}}) {
      Shape shape = with_channels({.batch = batch,
                                   .height = 6,
                                   .width = 5,
                                   .kernel_height = 3,
                                   .kernel_width = 2,
                                   .top = 1},
                                  channels);
      shape.bias = shape.accumulate = batch % 2 == 1;
      for (const int threads : {2, 3, 4}) check(shape, threads);
    }
  }
}

TEST(OnednnConvolution, NanAndInfinityReachWhatReadsThemAndNothingElse) {
  for (const auto& channels : kChannels) {
    const Shape shape = with_channels({.batch = 2,
                                       .height = 9,
                                       .width = 8,
                                       .kernel_height = 3,
                                       .kernel_width = 2,
                                       .top = 1,
                                       .left = 1},
                                      channels);
    Operands in(shape);
    in.x[in.x.size() / 2] = std::numeric_limits<float>::quiet_NaN();
    in.dy[in.dy.size() / 2] = std::numeric_limits<float>::quiet_NaN();
    in.x[in.x.size() / 4] = std::numeric_limits<float>::infinity();
    check(shape, in, 1);
    Operands other(shape);
    other.w[other.w.size() / 2] = std::numeric_limits<float>::quiet_NaN();
    check(shape, other, 1);
  }
}

// Many short runs, so that two lanes meet inside the library even on a loaded machine.
TEST(OnednnConvolution, LanesRunAtTheSameTime) {
  constexpr int kLanes = 2;
  const Shape shape = {
      .height = 6, .width = 7, .channels = 3, .filters = 20, .kernel_height = 3, .kernel_width = 3};
  for (const auto direction : {forward, input_gradient, weights_gradient}) {
    OnednnConvolution convolution(shape, direction, 1);
    convolution.compile(kLanes);
    std::atomic<int> wrong{0};
    parallel_parts(kLanes, [&](int lane) {
      const Operands in(shape, 10 * lane);
      const Floats alone = run(convolution, in, direction, lane);
      expect_near(reference(shape, direction, in), alone, text(shape));
      for (int time = 0; time < 5000; ++time) {
        wrong += !same_bits(run(convolution, in, direction, lane), alone);
      }
    });
    EXPECT_EQ(wrong, 0) << int(direction);
  }
}

TEST(OnednnConvolution, RefusesAnotherDirection) {
  const Shape shape = {.height = 4, .width = 4};
  OnednnConvolution convolution(shape, forward, 1);
  convolution.compile(1);
  float values[16] = {};
  EXPECT_FALSE(convolution.run_input_gradient(0, values, values, values, nullptr));
  EXPECT_FALSE(convolution.run_weights_gradient(0, values, values, values, nullptr));
}

TEST(OnednnConvolution, ImpossibleShapesAreOurMistake) {
  EXPECT_THROW(OnednnConvolution({.kernel_height = 3}, forward, 1), InternalError);
  EXPECT_THROW(OnednnConvolution({.channels = 3, .groups = 2}, forward, 1), InternalError);
  EXPECT_THROW(OnednnConvolution({.accumulate = true}, forward, 1), InternalError);
  EXPECT_THROW(OnednnConvolution({.bias = true}, input_gradient, 1), InternalError);
}

}  // namespace
}  // namespace snug
