#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "snug/kernels/random.h"
#include "snug/ops/image_ops.h"
#include "snug/ops/ops.h"
#include "snug/testing/check_op.h"

namespace snug {
namespace {

using ops::RandomWarpOptions;
using testing::check_op;
using testing::Doubles;
using testing::error_of;
using Kind = RandomWarpOptions::Kind;

constexpr int64_t kImages = 5, kHeight = 4, kWidth = 5, kChannels = 2;

// What the step of check_op draws for an image.
std::array<float, 2> draws_of(int64_t image, uint64_t stream) {
  std::array<float, 2> draws{};
  kernels::random_uniform({.key = {.seed = 7, .stream = stream, .epoch = 1},
                           .position = 11 + static_cast<uint64_t>(image),
                           .rows = 1,
                           .columns = 2},
                          0, 1, draws.data());
  return draws;
}

// Where pixel (i, j) of the result looks, by the words of Keras's layers.
std::array<double, 2> place(const RandomWarpOptions& options, int64_t image, double i, double j) {
  const auto [first, second] = draws_of(image, options.stream);
  const auto within = [](const std::array<float, 2>& range, float draw) {
    return range[0] + (range[1] - range[0]) * static_cast<double>(draw);
  };
  const double middle_i = (kHeight - 1) / 2.0, middle_j = (kWidth - 1) / 2.0;
  switch (options.kind) {
    case Kind::flip: {
      const bool turned = first <= 0.5f;
      return {turned && options.vertical ? kHeight - 1 - i : i,
              turned && options.horizontal ? kWidth - 1 - j : j};
    }
    case Kind::rotation: {
      const double angle = 2 * std::numbers::pi * within(options.height, first);
      const double di = i - middle_i, dj = j - middle_j;
      return {middle_i + std::sin(angle) * dj + std::cos(angle) * di,
              middle_j + std::cos(angle) * dj - std::sin(angle) * di};
    }
    case Kind::zoom: {
      const double down = 1 + within(options.height, first);
      const double across = options.one_factor ? down : 1 + within(options.width, second);
      return {middle_i + down * (i - middle_i), middle_j + across * (j - middle_j)};
    }
    case Kind::translation:
      return {i - kHeight * within(options.height, first),
              j - kWidth * within(options.width, second)};
    case Kind::crop:
      break;
  }
  return {i + std::floor(first * static_cast<float>(kHeight - options.size[0] + 1)),
          j + std::floor(second * static_cast<float>(kWidth - options.size[1] + 1))};
}

// With the border's pixels repeated.
double shown(const Doubles& x, int64_t image, int64_t channel, std::array<double, 2> at) {
  at = {std::clamp(at[0], 0.0, kHeight - 1.0), std::clamp(at[1], 0.0, kWidth - 1.0)};
  const double top = std::floor(at[0]), left = std::floor(at[1]);
  double sum = 0;
  for (const double i : {top, top + 1}) {
    for (const double j : {left, left + 1}) {
      const double weight = (1 - std::abs(at[0] - i)) * (1 - std::abs(at[1] - j));
      if (weight <= 0) continue;
      const auto row = static_cast<int64_t>(i), column = static_cast<int64_t>(j);
      sum += weight * x[((image * kHeight + row) * kWidth + column) * kChannels + channel];
    }
  }
  return sum;
}

void check(RandomWarpOptions options) {
  options.fill = kernels::WarpFill::nearest;
  options.stream = 77;
  const int64_t height = options.kind == Kind::crop ? options.size[0] : kHeight;
  const int64_t width = options.kind == Kind::crop ? options.size[1] : kWidth;
  const auto reference = [&](const std::vector<Doubles>& in) {
    Doubles y;
    for (int64_t out = 0; out < kImages * height * width * kChannels; ++out) {
      const int64_t channel = out % kChannels, j = out / kChannels % width;
      const int64_t i = out / kChannels / width % height;
      const int64_t image = out / kChannels / width / height;
      y.push_back(shown(in[0], image, channel,
                        place(options, image, static_cast<double>(i), static_cast<double>(j))));
    }
    return y;
  };
  check_op({.inputs = {{DType::float32, {kRows, kHeight, kWidth, kChannels}}},
            .build = [&](const Values& in) { return ops::random_warp(in[0], options); },
            .reference = reference,
            .result = {kRows, height, width, kChannels},
            .tolerance = 1e-5,
            .gradient_tolerance = 1e-3,
            .may_hide_nan = true});
}

TEST(RandomWarp, MatchesReference) {
  check({.kind = Kind::flip, .horizontal = true});
  check({.kind = Kind::flip, .horizontal = true, .vertical = true});
  check({.kind = Kind::rotation, .height = {-0.3f, 0.4f}});
  check({.kind = Kind::zoom, .height = {-0.4f, 0.6f}, .width = {-0.1f, 0.3f}});
  check({.kind = Kind::zoom, .height = {-0.4f, 0.6f}, .one_factor = true});
  check({.kind = Kind::translation, .height = {-0.4f, 0.4f}, .width = {0.1f, 0.5f}});
  check({.kind = Kind::crop, .size = {2, 3}});
}

TEST(RandomWarp, Refuses) {
  Graph graph;
  const Value flat = graph.input("flat", {DType::float32, {kRows, 8}});
  const Value x = graph.input("x", {DType::float32, {kRows, 4, 4, 1}});
  EXPECT_EQ(error_of([&] { ops::random_warp(flat, {}); }),
            "random_warp: the image must be float32 [rows, height, width, channels], got "
            "float32[rows, 8]");
  EXPECT_EQ(error_of([&] {
              ops::random_warp(x, {.kind = Kind::crop, .size = {5, 2}});
            }),
            "random_warp: a window of 5 x 2 is not within images of 4 x 4");
  EXPECT_EQ(error_of([&] { ops::random_warp({}, {}); }), "random_warp: the image is empty");
  EXPECT_EQ(error_of([&] {
              ops::random_warp(graph.input("none", {DType::float32, {kRows, 4, 0, 1}}), {});
            }),
            "random_warp: the image must be float32 [rows, height, width, channels], got "
            "float32[rows, 4, 0, 1]");
}

}  // namespace
}  // namespace snug
